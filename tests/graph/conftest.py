"""What the tests of the graph share: a store in a folder, a graph to look at, and a model that answers on loopback."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database
from holdfast.providers.http import Endpoint, HttpApi
from holdfast.testing import KEY, StandIn
from tests.graph.graph import Graph


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore((tmp_path / "store").as_uri())


@pytest.fixture
async def graph(database: Database) -> Graph:
    return await Graph.begin(database)


@pytest.fixture
async def stand_in() -> AsyncIterator[StandIn]:
    async with StandIn() as server:
        yield server


@pytest.fixture
async def api(stand_in: StandIn) -> AsyncIterator[HttpApi]:
    async with HttpApi(Endpoint("openai", stand_in.base_url, KEY)) as api:
        yield api
