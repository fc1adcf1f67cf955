"""A server that the weather may strike: each process that runs cells has its own, and one cell at a time on it."""

import asyncio
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from holdfast.db.cluster import Cluster
from holdfast.db.connection import connect
from holdfast.db.embedded import EmbeddedServer
from holdfast.db.migrations import migrate
from holdfast.schema import FUNCTIONS
from holdfast.settings import Settings
from tests.conftest import OwnServer
from tests.endpoint import with_database
from tests.weather.cells import Cell

TEMPLATE = "weather_template"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what lasts longest, whatever order chance has chosen: it must not be what everyone waits for."""
    items.sort(key=_lasting, reverse=True)


def _lasting(item: pytest.Item) -> float:
    callspec = getattr(item, "callspec", None)
    cell = callspec.params.get("cell") if callspec else None
    return cell.seconds * cell.scale if isinstance(cell, Cell) else 0.0


@pytest.fixture(scope="session")
def weather_server() -> Iterator[OwnServer]:
    """A server with a migrated database to copy."""
    home = Path(tempfile.mkdtemp(prefix="holdfast-weather-"))
    server = EmbeddedServer(home, durable=False)
    server.join()
    asyncio.run(_make_template(server.dsn))
    yield OwnServer(home, server)
    server.leave()
    Cluster(home / "postgres").stop("immediate")
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def weather_dsn(weather_server: OwnServer) -> Iterator[str]:
    """A migrated, empty database of the cell's own."""
    name = f"weather_{uuid.uuid4().hex}"
    asyncio.run(_execute(weather_server.server.dsn, f'create database "{name}" template {TEMPLATE}'))
    yield with_database(weather_server.server.dsn, name)
    asyncio.run(_execute(weather_server.server.dsn, f'drop database "{name}" with (force)'))


async def _make_template(dsn: str) -> None:
    await _execute(dsn, f"create database {TEMPLATE}")
    async with connect(Settings(database_url=with_database(dsn, TEMPLATE))) as database:
        await migrate(database, functions=FUNCTIONS)


async def _execute(dsn: str, sql: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()
