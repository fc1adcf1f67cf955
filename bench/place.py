"""A server and databases for the benchmarks: durable, in a folder of their own, gone afterwards."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from bench.scale import Scale
from holdfast.db.connection import connect
from holdfast.db.embedded import embedded
from holdfast.db.migrations import migrate
from holdfast.schema import FUNCTIONS
from holdfast.settings import Settings
from tests.endpoint import with_database

DURABILITY = ("fsync", "synchronous_commit", "full_page_writes")


@dataclass(frozen=True, slots=True)
class Place:
    """Where benchmarks run, and at what scale. `dsn` is a superuser's."""

    dsn: str
    scale: Scale

    @asynccontextmanager
    async def database(self, name: str) -> AsyncIterator[str]:
        """A migrated database with nothing in it; yields its DSN."""
        await execute(self.dsn, f'create database "{name}"')
        dsn = with_database(self.dsn, name)
        async with connect(Settings(database_url=dsn)) as database:
            await migrate(database, functions=FUNCTIONS)
        try:
            yield dsn
        finally:
            await execute(self.dsn, f'drop database "{name}" with (force)')


@asynccontextmanager
async def temporary_place(scale: Scale) -> AsyncIterator[Place]:
    """An embedded server with durability on, in a temporary home that is removed at the end."""
    home = Path(tempfile.mkdtemp(prefix="holdfast-bench-"))
    try:
        async with embedded(home) as dsn:
            await _refuse_cheating(dsn)
            yield Place(dsn, scale)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@asynccontextmanager
async def connected(dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A plain connection, for work that is not measured."""
    connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


async def execute(dsn: str, sql: str) -> None:
    """Run one statement on a connection of its own."""
    async with connected(dsn) as connection:
        await connection.execute(sql)


async def _refuse_cheating(dsn: str) -> None:
    async with connected(dsn) as connection:
        for setting in DURABILITY:
            if await connection.fetchval(f"show {setting}") != "on":
                raise RuntimeError(f"the server runs with {setting} off: figures without durability say nothing")
