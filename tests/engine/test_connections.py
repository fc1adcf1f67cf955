"""A missing connection is nobody's fault: no job is charged for it, and no worker ends for it."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import asyncpg

from holdfast.db.connection import Connection, Database, connect
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done
from holdfast.engine.policy import STRICT
from holdfast.engine.worker import Worker
from holdfast.settings import Settings
from tests.conftest import Clock
from tests.endpoint import with_user
from tests.engine.scenario import until_someone_waits_for_a_lock
from tests.engine.working import QUICK, all_final, jobs_of, pipeline_of, running, state_is, take_in, until, work_off


async def test_attempt_without_a_connection_goes_back_uncharged(
    dsn: str, guest: str, database: Database, clock: Clock
) -> None:
    await database.execute(f'alter role "{guest}" connection limit 1')
    async with connect(Settings(database_url=with_user(dsn, guest)), command_seconds=0.5) as visitor:

        async def handle(_: Attempt) -> Done:
            # As phases ask for several things at once: the error comes in a group.
            async with asyncio.TaskGroup() as group:
                group.create_task(visitor.fetchval("select 1"))
            return Done()

        held = await _taken(with_user(dsn, guest))
        pipeline = pipeline_of(handle, policy=STRICT)
        (job,) = await work_off(database, pipeline)
        assert (job["state"], job["retry_count"], job["last_error"]) == ("held", 0, None)

        await held.close()
        await clock.advance(seconds=10)
        await Worker(database, [pipeline], pace=QUICK).run(until_idle=True)

    (job,) = await jobs_of(database)
    rows = await database.fetch("select outcome, error ->> 'error' as why from holdfast.pipeline_phase order by id")
    assert [row["outcome"] for row in rows] == ["released", "completed"]
    assert "no connection left" in rows[0]["why"]
    assert (job["state"], job["retry_count"]) == ("done", 0)


async def test_attempt_that_may_have_paid_is_not_tried_without_end(
    dsn: str, guest: str, database: Database, clock: Clock
) -> None:
    """Its provider's bill is not known, so what was reserved counts as spent, and the policy bounds how often."""
    calls = 0
    await database.execute(f'alter role "{guest}" connection limit 0')

    async def handle(_: Attempt) -> Done:
        nonlocal calls
        calls += 1
        async with connect(Settings(database_url=with_user(dsn, guest)), command_seconds=0.2) as visitor:
            await visitor.fetchval("select 1")
        return Done(cost_usd=Decimal(1))

    pipeline = pipeline_of(handle, policy=STRICT, budget="models", estimate_usd=Decimal(1), daily_limit_usd=Decimal(3))
    (job,) = await work_off(database, pipeline)
    assert (job["state"], calls) == ("failed", 1)
    await clock.advance(seconds=60)
    await Worker(database, [pipeline], pace=QUICK).run(until_idle=True)

    (budget,) = await database.fetch("select spent_usd, reserved_usd from holdfast.budget_day")
    assert (calls, budget["spent_usd"], budget["reserved_usd"]) == (1, 1, 0)


async def test_heartbeats_go_on_while_handlers_hold_every_connection(database: Database, dsn: str) -> None:
    calls = 0
    pace = replace(QUICK, lease_seconds=2.0, heartbeat_seconds=0.5)

    async with connect(Settings(database_url=dsn, pool_size=3), command_seconds=2, reserved=1) as own:

        async def handle(_: Attempt) -> Done:
            nonlocal calls
            calls += 1
            async with own.patient.transaction() as connection:
                await connection.execute("select pg_sleep(1.5)")
            return Done()

        pipeline = pipeline_of(handle)
        await take_in(database, pipeline, count=6)
        await Worker(own.urgent, [pipeline], pace=pace).run(until_idle=True)

    assert [job["state"] for job in await jobs_of(database)] == ["done"] * 6
    assert calls == 6


async def test_heartbeats_go_on_while_endings_wait_for_a_lock(database: Database, dsn: str) -> None:
    claimed, go_on = 0, asyncio.Event()

    async def handle(_: Attempt) -> Done:
        nonlocal claimed
        claimed += 1
        await go_on.wait()
        return Done(cost_usd=Decimal("0.01"))

    async def all_claimed() -> bool:
        return claimed == 5

    async def is_heard() -> bool:
        return bool(await database.fetchval("select seen_at > $1 from holdfast.worker", blocked_at))

    async with connect(Settings(database_url=dsn, pool_size=4), command_seconds=60, reserved=2) as own:
        pipeline = pipeline_of(handle, budget="calls", estimate_usd=Decimal("0.01"), daily_limit_usd=Decimal(1))
        await take_in(database, pipeline, count=5)
        async with running(own, pipeline):
            await until(all_claimed)
            async with database.transaction() as other:
                await other.execute("select from holdfast.budget_day for update")
                go_on.set()
                await until_someone_waits_for_a_lock(database, 3)
                blocked_at = await database.fetchval("select clock_timestamp()")
                await until(is_heard)
            await until(lambda: all_final(database))
    assert {job["crash_count"] for job in await jobs_of(database)} == {0}


async def test_finished_work_waits_for_a_connection_to_be_saved(database: Database, dsn: str) -> None:
    """Longer than a save may fail: nothing was tried yet."""
    calls = 0

    async def save(_: Connection) -> None:
        pass

    async def handle(_: Attempt) -> Done:
        nonlocal calls
        calls += 1
        return Done(save=save, cost_usd=Decimal(1))

    async with connect(Settings(database_url=dsn, pool_size=2), command_seconds=0.2, reserved=1) as own:
        pipeline = pipeline_of(handle, policy=STRICT)
        await take_in(database, pipeline)
        async with running(own, pipeline):
            async with own.transaction():
                await asyncio.sleep(5)
            await until(lambda: all_final(database))

    assert [job["state"] for job in await jobs_of(database)] == ["done"]
    assert (calls, await database.fetchval("select count(*) from holdfast.pipeline_phase")) == (1, 1)


async def _taken(url: str) -> "asyncpg.Connection[asyncpg.Record]":
    """The one connection, as soon as it is free."""
    while True:
        try:
            return await asyncpg.connect(url)
        except asyncpg.TooManyConnectionsError:
            await asyncio.sleep(0.05)


async def test_worker_outlives_a_login_that_is_locked_for_a_while(dsn: str, guest: str, database: Database) -> None:
    async def handle(_: Attempt) -> Done:
        return Done()

    pipeline = pipeline_of(handle)
    await database.execute(f'grant holdfast_worker to "{guest}"')
    async with (
        connect(Settings(database_url=with_user(dsn, guest))) as own,
        running(own, pipeline),
    ):
        (first,) = await take_in(database, pipeline)
        await until(lambda: state_is(database, first.job_id, "done"))

        await database.execute(f'alter role "{guest}" nologin')
        await database.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", guest)
        (second,) = await take_in(database, pipeline)
        await asyncio.sleep(1)  # long enough for each of its loops to meet the refusal
        assert await state_is(database, second.job_id, "queued")

        await database.execute(f'alter role "{guest}" login')
        await until(lambda: state_is(database, second.job_id, "done"))
