"""What the tests of chunking share: a store in a folder, and a language model that answers on loopback."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.artifacts.store import ArtifactStore
from tests.chunk.model_server import ModelServer


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore((tmp_path / "store").as_uri())


@pytest.fixture
async def model_server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server
