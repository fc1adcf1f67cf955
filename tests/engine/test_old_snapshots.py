"""The doctor names who keeps the oldest snapshot: old row versions stay as long, and the queue slows down."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from holdfast.db.connection import Connection, Database, connect
from holdfast.engine.snapshots import old_snapshots
from holdfast.settings import Settings
from tests.conftest import Clock, OwnServer
from tests.endpoint import with_user


@asynccontextmanager
async def open_snapshot(database: Database) -> AsyncIterator[Connection]:
    async with database.transaction() as reader:
        await reader.execute("set transaction isolation level repeatable read")
        await reader.execute("set local application_name to 'report'")
        await reader.fetch("select * from holdfast.pipeline_job")
        yield reader


async def burn_transactions(database: Database, count: int) -> None:
    for _ in range(count):
        await database.fetchval("select pg_current_xact_id()")


async def test_session_with_an_old_snapshot_is_named(database: Database, clock: Clock) -> None:
    async with open_snapshot(database) as reader:
        pid = await reader.fetchval("select pg_backend_pid()")
        await clock.advance(minutes=6)
        (warning,) = await old_snapshots(database)
    assert warning.startswith(f'session {pid} (application "report", user "')
    assert "idle in transaction since 20" in warning
    assert f"select pg_terminate_backend({pid})" in warning


async def test_session_that_wrote_and_fell_asleep_is_named(database: Database, clock: Clock) -> None:
    async with database.transaction() as writer:
        pid = await writer.fetchval("select pg_backend_pid() from pg_current_xact_id()")
        await clock.advance(minutes=6)
        (warning,) = await old_snapshots(database)
    assert warning.startswith(f"session {pid} (")


async def test_young_snapshot_is_nobodys_concern(database: Database, clock: Clock) -> None:
    async with open_snapshot(database):
        await clock.advance(minutes=4)
        assert await old_snapshots(database) == []


async def test_transaction_without_a_snapshot_keeps_nothing(database: Database, clock: Clock) -> None:
    async with database.transaction() as idle:
        await idle.execute("select 1")
        await clock.advance(minutes=6)
        assert await old_snapshots(database) == []


async def test_only_the_oldest_are_named(database: Database, dsn: str, clock: Clock) -> None:
    async with connect(Settings(database_url=dsn, pool_size=5)) as others, AsyncExitStack() as stack:
        for _ in range(4):
            await stack.enter_async_context(open_snapshot(others))
        await clock.advance(minutes=6)
        warnings = await old_snapshots(database)
    assert len(warnings) == 3


async def test_who_may_not_see_others_is_told_what_can_be_seen(
    database: Database, dsn: str, clock: Clock, guest: str
) -> None:
    await database.execute(f'grant holdfast_readonly to "{guest}"')
    async with open_snapshot(database) as reader, connect(Settings(database_url=with_user(dsn, guest))) as hidden:
        pid = await reader.fetchval("select pg_backend_pid()")
        await burn_transactions(database, 3)
        await clock.advance(minutes=6)
        assert await old_snapshots(hidden) == []
        (warning,) = await old_snapshots(hidden, after_transactions=3)
    assert warning.startswith(f'session {pid} (application "report", user "')
    assert "transactions ago" in warning
    assert f'grant pg_read_all_stats to "{guest}"' in warning


async def test_prepared_transaction_is_named(own_server: OwnServer) -> None:
    async with connect(own_server.settings) as database:
        await database.execute("create schema holdfast")
        await database.execute(
            "create function holdfast.clock() returns timestamptz language sql as $$ select now() + '1 hour' $$"
        )
        await database.execute("alter system set max_prepared_transactions = 1")
    own_server.kill()
    async with connect(own_server.settings) as database:
        async with database.statement() as connection:
            await connection.execute("begin; select pg_current_xact_id(); prepare transaction 'forgotten'")
        (warning,) = await old_snapshots(database)
        await database.execute("rollback prepared 'forgotten'")
    assert warning.startswith("prepared transaction forgotten (")
    assert "rollback prepared 'forgotten'" in warning
