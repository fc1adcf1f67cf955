"""Grounds for walks of documents, where vectors are: the external server has no pgvector."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.conftest import Server, _drop, _execute
from tests.endpoint import with_database
from tests.walks.documents.ground import Ground


@pytest.fixture
def ground(dsn: str, tmp_path: Path) -> Ground:
    """A ground of the test's own."""
    return Ground(dsn, tmp_path)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def common_ground(
    server: Server, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Ground]:
    """A ground that the tests of a module share."""
    name = f"holdfast_test_{uuid.uuid4().hex}"
    await _execute(server.dsn, f'create database "{name}" template "{template}"')
    yield Ground(with_database(server.dsn, name), tmp_path_factory.mktemp("ground"))
    await _drop(server.dsn, name)
