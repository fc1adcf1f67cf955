"""Everything works behind a transaction-pooling proxy."""

import asyncio

import pytest

from holdfast.db.connection import Database, connect
from holdfast.db.migrations import migrate
from holdfast.errors import DatabaseUnusable
from holdfast.settings import Settings
from tests.conftest import FUNCTIONS
from tests.pooler import Pooler


async def test_direct_connection_is_not_taken_for_a_pooler(database: Database) -> None:
    assert not database.behind_pooler


async def test_pooler_is_recognised(dsn: str) -> None:
    async with Pooler(dsn) as pooler, connect(Settings(database_url=pooler.dsn)) as database:
        assert database.behind_pooler


async def test_concurrent_calls_get_their_own_answers(dsn: str) -> None:
    async def ask(number: int) -> bool:
        sql = f"select $1::bigint, $2::jsonb, {number % 7}"
        return tuple(await database.fetchrow(sql, number, [number]) or ()) == (number, [number], number % 7)

    async with Pooler(dsn) as pooler, connect(Settings(database_url=pooler.dsn)) as database:
        answers = await asyncio.gather(*(ask(number) for number in range(300)))
    assert all(answers)


async def test_transaction_stays_on_one_server(dsn: str) -> None:
    async def servers_met() -> int:
        async with database.transaction() as connection:
            return len({await connection.fetchval("select pg_backend_pid()") for _ in range(5)})

    async with Pooler(dsn) as pooler, connect(Settings(database_url=pooler.dsn)) as database:
        assert await asyncio.gather(*(servers_met() for _ in range(10))) == [1] * 10


async def test_calls_meet_different_servers(dsn: str) -> None:
    async with Pooler(dsn) as pooler, connect(Settings(database_url=pooler.dsn)) as database:
        assert len({await database.fetchval("select pg_backend_pid()") for _ in range(10)}) == 2


async def test_migrating_works(empty_dsn: str) -> None:
    async with Pooler(empty_dsn) as pooler, connect(Settings(database_url=pooler.dsn)) as database:
        with pytest.raises(DatabaseUnusable, match="run `holdfast migrate`"):
            await database.fetch("select * from holdfast.pipeline_job")
        await migrate(database, functions=FUNCTIONS)
        assert await migrate(database, functions=FUNCTIONS) == []
