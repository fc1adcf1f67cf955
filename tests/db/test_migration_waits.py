"""A migration that waits for a lock lets everyone else go on, says for whom it waits, and gives up in time."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.db.connection import Connection, Database, connect
from holdfast.db.migrations import Applied, migrate
from holdfast.errors import DatabaseUnavailable
from holdfast.settings import Settings
from tests.engine.scenario import until_someone_waits_for_a_lock

BUSY_SECONDS = 60.0


@pytest.fixture
async def migrated(empty_dsn: str, directory: Path) -> AsyncIterator[Database]:
    async with connect(Settings(database_url=empty_dsn)) as database:
        await migrate(database, directory=directory)
        (directory / "0002_wider.sql").write_text("alter table holdfast.one add column other integer;")
        yield database


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "0001_first.sql").write_text("create table holdfast.one (value integer);")
    return tmp_path


async def read_without_end(reader: Connection) -> int:
    await reader.execute("set local application_name to 'report'")
    await reader.fetch("select * from holdfast.one")
    pid: int = await reader.fetchval("select pg_backend_pid()")
    return pid


async def test_others_go_on_while_a_migration_waits_for_a_long_reader(migrated: Database, directory: Path) -> None:
    async with asyncio.timeout(BUSY_SECONDS):
        async with migrated.transaction() as reader:
            await read_without_end(reader)
            migrating = asyncio.create_task(migrate(migrated, directory=directory))
            await until_someone_waits_for_a_lock(migrated)
            await migrated.execute("insert into holdfast.one values (1)")
            assert not migrating.done()
        assert await migrating == [Applied(2, "wider")]


async def test_it_says_for_whom_it_waits_and_goes_on_when_that_one_ends(migrated: Database, directory: Path) -> None:
    told = asyncio.Queue[str]()
    async with asyncio.timeout(BUSY_SECONDS):
        async with migrated.transaction() as reader:
            pid = await read_without_end(reader)
            migrating = asyncio.create_task(migrate(migrated, directory=directory, on_wait=told.put_nowait))
            for _ in range(2):
                line = await told.get()
                assert f"session {pid}" in line
                assert '"report"' in line
                assert "idle in transaction since" in line
        assert await migrating == [Applied(2, "wider")]


async def test_when_its_time_is_over_it_says_in_one_line_who_is_in_the_way(migrated: Database, directory: Path) -> None:
    async with asyncio.timeout(BUSY_SECONDS), migrated.transaction() as reader:
        pid = await read_without_end(reader)
        with pytest.raises(DatabaseUnavailable, match=f"session {pid} .*select pg_terminate_backend") as raised:
            await migrate(migrated, directory=directory, wait_seconds=0.1)
    assert "\n" not in str(raised.value)
    assert await migrated.fetchval("select max(number) from holdfast.migration") == 1


async def test_without_a_connection_to_look_through_it_waits_all_the_same(
    migrated: Database, directory: Path, empty_dsn: str
) -> None:
    told = asyncio.Queue[str]()
    async with asyncio.timeout(BUSY_SECONDS), connect(Settings(database_url=empty_dsn, pool_size=1)) as narrow:
        async with migrated.transaction() as reader:
            await read_without_end(reader)
            migrating = asyncio.create_task(migrate(narrow, directory=directory, on_wait=told.put_nowait))
            assert "another session" in await told.get()
        assert await migrating == [Applied(2, "wider")]
