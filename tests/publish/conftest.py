"""An empty library and a store for each test of publishing."""

from pathlib import Path

import pytest

from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database
from tests.publish.library import Library, open_library


@pytest.fixture
async def library(database: Database) -> Library:
    return await open_library(database)


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore((tmp_path / "artifacts").as_uri())
