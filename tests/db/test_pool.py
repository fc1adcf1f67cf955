"""Few connections for many borrowers: who finds none waits, as long as there is hope."""

import asyncio
from contextlib import AsyncExitStack

import asyncpg
import pytest

from holdfast.db.connection import Database, connect
from holdfast.errors import ConnectionsUsedUp, NoConnection
from holdfast.settings import Settings
from tests.endpoint import with_user


async def test_calls_share_the_connections_that_the_server_allows(dsn: str, guest: str, database: Database) -> None:
    await database.execute(f'alter role "{guest}" connection limit 2')
    async with connect(Settings(database_url=with_user(dsn, guest), pool_size=8)) as visitor:
        answers = await asyncio.gather(
            *(visitor.fetchval("select $1::int + 0 * length(pg_sleep(0.01)::text)", n) for n in range(100))
        )
        assert answers == list(range(100))


async def test_nested_borrower_waits_for_the_connection_that_comes_free(
    dsn: str, guest: str, database: Database
) -> None:
    """An idle connection is found below the empty places that failed to open one."""
    await database.execute(f'alter role "{guest}" connection limit 1')
    async with connect(Settings(database_url=with_user(dsn, guest), pool_size=4)) as visitor:
        async with visitor.transaction():
            waiting = asyncio.gather(*(visitor.fetchval("select 1") for _ in range(10)))
            await asyncio.sleep(0.3)
            assert not waiting.done()
        assert await waiting == [1] * 10


async def test_start_and_call_wait_until_someone_gives_up_a_connection(
    dsn: str, guest: str, database: Database
) -> None:
    await database.execute(f'alter role "{guest}" connection limit 1')
    url = with_user(dsn, guest)
    async with AsyncExitStack() as stack:
        held = await asyncpg.connect(url)
        starting = asyncio.create_task(stack.enter_async_context(connect(Settings(database_url=url))))
        await asyncio.sleep(0.3)
        assert not starting.done()
        await held.close()
        visitor = await starting

        held = await _connected(url)
        calling = asyncio.create_task(visitor.fetchval("select 1"))
        await asyncio.sleep(0.3)
        assert not calling.done()
        await held.close()
        assert await calling == 1


async def _connected(url: str) -> "asyncpg.Connection[asyncpg.Record]":
    while True:
        try:
            return await asyncpg.connect(url)
        except asyncpg.TooManyConnectionsError:
            await asyncio.sleep(0.05)


async def test_patience_ends(dsn: str, guest: str, database: Database) -> None:
    await database.execute(f'alter role "{guest}" connection limit 1')
    url = with_user(dsn, guest)
    async with connect(Settings(database_url=url), command_seconds=1) as visitor:
        held = await _connected(url)
        with pytest.raises(ConnectionsUsedUp, match="no connection left: too many connections for role"):
            await visitor.fetchval("select 1")
        with pytest.raises(ConnectionsUsedUp):
            async with connect(Settings(database_url=url), command_seconds=0.1):
                pass
        await held.close()


async def test_cancelled_borrower_leaves_its_turn_to_the_next(dsn: str) -> None:
    async with connect(Settings(database_url=dsn, pool_size=1)) as database:
        async with database.transaction():
            first, second = (asyncio.create_task(database.fetchval("select 1")) for _ in range(2))
            await asyncio.sleep(0.1)
        first.cancel()
        assert await second == 1
        assert await database.fetchval("select 1") == 1


async def test_borrower_whose_time_is_over_says_so(dsn: str) -> None:
    async with connect(Settings(database_url=dsn, pool_size=1), command_seconds=2) as database:
        with pytest.raises(NoConnection, match="no connection came free in time"):
            async with database.transaction():
                await database.fetchval("select 1")


async def test_urgent_calls_are_served_while_all_others_wait(dsn: str) -> None:
    async with connect(Settings(database_url=dsn, pool_size=3), command_seconds=5, reserved=1) as database:
        async with AsyncExitStack() as stack:
            for _ in range(2):
                await stack.enter_async_context(database.transaction())
            waiting = asyncio.gather(*(database.fetchval("select 1") for _ in range(5)))
            assert await asyncio.gather(*(database.urgent.fetchval("select 2") for _ in range(5))) == [2] * 5
            assert not waiting.done()
        assert await waiting == [1] * 5


async def test_urgent_call_comes_before_those_that_wait_longer(dsn: str) -> None:
    order: list[str] = []

    async def call(database: Database, name: str) -> None:
        await database.fetchval("select 1")
        order.append(name)

    async with connect(Settings(database_url=dsn, pool_size=1)) as database:
        async with database.transaction():
            calls = [asyncio.create_task(call(database, "usual")) for _ in range(3)]
            await asyncio.sleep(0.1)
            calls.append(asyncio.create_task(call(database.urgent, "urgent")))
            await asyncio.sleep(0.1)
        await asyncio.gather(*calls)
    assert order == ["urgent", "usual", "usual", "usual"]


async def test_patient_call_outlasts_what_ends_others(dsn: str, guest: str, database: Database) -> None:
    await database.execute(f'alter role "{guest}" connection limit 1')
    url = with_user(dsn, guest)
    async with connect(Settings(database_url=url), command_seconds=0.2) as visitor:
        held = await _connected(url)
        storing = asyncio.create_task(visitor.patient.fetchval("select 1"))
        for _ in range(3):
            with pytest.raises(NoConnection):
                await visitor.fetchval("select 1")
        await database.execute(f'alter role "{guest}" nologin')
        await held.close()
        await asyncio.sleep(0.5)
        assert not storing.done()
        await database.execute(f'alter role "{guest}" login')
        assert await storing == 1
