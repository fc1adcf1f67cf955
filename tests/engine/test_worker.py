"""How a worker runs: what it takes on, what it leaves alone, and how it stops."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.lifeline import Pace
from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.engine.policy import STRICT, Policy, Rule
from holdfast.engine.queue import Lane, Queue
from holdfast.engine.worker import Worker
from holdfast.errors import Category, RateLimited
from tests.conftest import Clock
from tests.engine.scenario import until_listened_to
from tests.engine.working import QUICK, all_final, jobs_of, pipeline_of, running, state_is, take_in, until, work_off


async def test_running_job_can_be_cancelled(database: Database) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def hang(attempt: Attempt) -> Done:
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return Done()

    pipeline = pipeline_of(hang)
    (submitted,) = await take_in(database, pipeline)
    since = await database.fetchval("select clock_timestamp()")
    async with running(database, pipeline, Pace(heartbeat_seconds=60, lease_seconds=200, poll_seconds=0.1)):
        await began.wait()
        await until_listened_to(database, since)
        await database.fetch("select * from holdfast.cancel(array[$1::bigint], 'tester')", submitted.job_id)
        async with asyncio.timeout(30):
            await ended.wait()
    assert await state_is(database, submitted.job_id, "cancelled")
    assert await database.fetchval("select outcome from holdfast.pipeline_phase") == "cancelled"


async def test_worker_counts_its_heartbeats(database: Database) -> None:
    async def has_counted() -> bool:
        return bool(await database.fetchval("select heartbeat_number >= 3 from holdfast.worker"))

    async def handle(_: Attempt) -> Done:
        return Done()

    async with running(database, pipeline_of(handle)):
        await until(has_counted)


async def test_progress_inside_a_phase_is_seen_outside(database: Database) -> None:
    go_on = asyncio.Event()

    async def handle(attempt: Attempt) -> Done:
        attempt.progress(0.5)
        await go_on.wait()
        return Done()

    pipeline = Pipeline(
        "test",
        phases=(Phase(name="only", handler=handle, done="complete"),),
        progress={"submitted": 10, "only": 20, "complete": 100},
    )
    await take_in(database, pipeline)

    async def half_way() -> bool:
        return bool(await database.fetchval("select percent from holdfast.job_progress") == 60)

    async with running(database, pipeline):
        await until(half_way)
        go_on.set()
        await until(lambda: all_final(database))
    assert await database.fetchval("select percent from holdfast.job_progress") == 100


@pytest.fixture
def time_for_goodbyes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given back is written, however slow the machine is."""
    monkeypatch.setattr("holdfast.engine.worker.GOODBYE_SECONDS", 60)


@pytest.mark.usefixtures("time_for_goodbyes")
async def test_stopping_worker_finishes_what_runs_and_gives_back_the_rest(database: Database) -> None:
    began, stopping = asyncio.Event(), asyncio.Event()

    async def handle(attempt: Attempt) -> Done:
        began.set()
        await stopping.wait()
        await asyncio.sleep(0.1 if attempt.document.source_name == "short" else 600)
        return Done()

    pipeline = pipeline_of(handle)
    (short,) = await take_in(database, pipeline, source_name="short")
    (long,) = await take_in(database, pipeline, source_name="long")
    worker = Worker(database, [pipeline], pace=Pace(drain_seconds=1.0))
    run = asyncio.create_task(worker.run())
    await began.wait()
    worker.stop()
    stopping.set()
    await run
    assert await state_is(database, short.job_id, "done")
    assert await state_is(database, long.job_id, "queued")
    row = await database.fetchrow("select outcome, error from holdfast.pipeline_phase where job_id = $1", long.job_id)
    assert row is not None
    assert (row["outcome"], row["error"]["error"]) == ("released", "its worker stopped")


async def test_drain_takes_back_what_a_dead_worker_held(database: Database, clock: Clock) -> None:
    async def handle(attempt: Attempt) -> Done:
        return Done()

    pipeline = pipeline_of(handle)
    (submitted,) = await take_in(database, pipeline)
    dead = Queue(database)
    lane = Lane(pipeline.name, "only", 1)
    await dead.register_worker("dead", host="elsewhere", pid=1, lanes=[lane])
    assert len(await dead.claim("dead", [lane])) == 1
    await clock.advance(minutes=10)

    await Worker(database, [pipeline], pace=QUICK).run(until_idle=True)

    assert await database.fetch("select outcome from holdfast.pipeline_phase order by id") == [
        ("lost",),
        ("completed",),
    ]
    assert await state_is(database, submitted.job_id, "done")


@pytest.mark.usefixtures("time_for_goodbyes")
async def test_second_stop_gives_everything_back_at_once(database: Database) -> None:
    began = asyncio.Event()

    async def handle(attempt: Attempt) -> Done:
        began.set()
        await asyncio.sleep(600)
        return Done()

    pipeline = pipeline_of(handle)
    (submitted,) = await take_in(database, pipeline)
    worker = Worker(database, [pipeline], pace=Pace(drain_seconds=600))
    run = asyncio.create_task(worker.run())
    await began.wait()
    worker.stop()
    worker.stop()
    async with asyncio.timeout(60):
        await run
    assert await state_is(database, submitted.job_id, "queued")


async def test_concurrency_of_a_phase_is_never_passed(database: Database) -> None:
    now, most = 0, 0

    async def handle(attempt: Attempt) -> Done:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return Done()

    jobs = await work_off(database, pipeline_of(handle, concurrency=3), 30)
    assert {job["state"] for job in jobs} == {"done"}
    assert most == 3


@pytest.mark.usefixtures("noon")
async def test_refusal_of_a_spent_budget_says_money_as_people_do(database: Database) -> None:
    async def handle(attempt: Attempt) -> Done:
        return Done(cost_usd=Decimal("0.5"))

    pipeline = pipeline_of(handle, budget="daily", estimate_usd=Decimal("0.5"), concurrency=1)
    await Queue(database).register([pipeline])
    await database.execute("select holdfast.set_budget('daily', 1)")
    (refused,) = [job for job in await work_off(database, pipeline, 3) if job["state"] == "held"]
    assert refused["last_error"]["error"].startswith(
        'budget "daily" has $0 left of the $0.50 needed; it opens again at '
    )


@pytest.mark.usefixtures("noon")
async def test_spent_budget_holds_the_job_without_calling_the_handler(database: Database) -> None:
    calls = 0

    async def handle(attempt: Attempt) -> Done:
        nonlocal calls
        calls += 1
        return Done(cost_usd=Decimal("0.4"))

    pipeline = pipeline_of(handle, budget="daily", estimate_usd=Decimal("0.4"), concurrency=1)
    await Queue(database).register([pipeline])
    await database.execute("select holdfast.set_budget('daily', 1)")
    jobs = await work_off(database, pipeline, 5)
    assert calls == 2
    assert sorted(job["state"] for job in jobs) == ["done", "done", "held", "queued", "queued"]
    assert await database.fetchval("select sum(retry_count) from holdfast.pipeline_job") == 0
    assert await database.fetchval("select spent_usd from holdfast.budget_day") == Decimal("0.8")


async def test_provider_that_asks_to_wait_is_left_alone_until_then(database: Database) -> None:
    calls = 0

    async def handle(attempt: Attempt) -> Done:
        nonlocal calls
        calls += 1
        if calls <= 4:
            raise RateLimited("slow down", retry_after_seconds=3600.0)
        return Done()

    pipeline = pipeline_of(handle, provider="model", concurrency=4)
    await take_in(database, pipeline, 10_000)

    async def ended(attempts: int) -> bool:
        return bool(await database.fetchval("select count(*) from holdfast.pipeline_phase") >= attempts)

    async with running(database, pipeline):
        await until(lambda: ended(4))
        await asyncio.sleep(1.0)
        assert calls == 4, "beyond the calls already in flight nothing may reach the provider"
        assert await database.fetchval("select count(*) from holdfast.pipeline_phase") == 4
        await database.execute("update holdfast.hold set until = holdfast.clock()")
        await until(lambda: ended(100))
    outcomes = await database.fetch("select distinct outcome from holdfast.pipeline_phase")
    assert {row["outcome"] for row in outcomes} <= {"released", "completed"}
    assert await database.fetchval("select sum(retry_count) from holdfast.pipeline_job") == 0


async def test_worker_leaves_phases_it_does_not_know_alone(database: Database) -> None:
    async def handle(attempt: Attempt) -> Done:
        return Done()

    first, second = (Phase(name=name, handler=handle, done=f"{name}_done") for name in ("first", "second"))
    await Queue(database).register([Pipeline("test", phases=(first, second), version=2)])
    (job,) = await work_off(database, Pipeline("test", phases=(first,), version=1))
    assert (job["state"], job["phase"], job["last_error"]) == ("queued", "second", None)


async def test_rule_changed_while_it_runs_counts_for_the_next_failure(database: Database) -> None:
    async def handle(attempt: Attempt) -> Done:
        raise ConnectionResetError("always")

    policy = STRICT.with_rules({Category.NETWORK_TIMEOUT: Rule(max_retries=0)})
    pipeline = pipeline_of(handle, policy=Policy("changing", policy.rules))
    await Queue(database).register([pipeline])
    await database.execute(
        "update holdfast.policy_rule set max_retries = 2, wait_seconds = '{0}'"
        " where policy = 'changing' and category = 'network_timeout'"
    )
    (job,) = await work_off(database, pipeline)
    assert (job["state"], job["retry_count"]) == ("deadletter", 2)


async def test_drain_stays_for_the_jobs_of_a_worker_that_has_fallen_silent(database: Database) -> None:
    """It cannot know yet whether the other is dead: it has not been in touch for a lease."""
    pipeline = pipeline_of(_done)
    await take_in(database, pipeline)
    queue = Queue(database)
    await queue.register_worker("dead", host="elsewhere", pid=1, lanes=[])
    assert len(await queue.claim("dead", [Lane("test", "only", 1)])) == 1
    await database.execute("update holdfast.worker set seen_at = seen_at - interval '1 hour'")
    await Worker(database, [pipeline], pace=replace(QUICK, lease_seconds=1.0)).run(until_idle=True)
    (job,) = await jobs_of(database)
    assert job["state"] == "done"


async def test_drain_does_not_stay_for_a_silent_worker_that_holds_nothing(database: Database) -> None:
    pipeline = pipeline_of(_done)
    await take_in(database, pipeline)
    await Queue(database).register_worker("dead", host="elsewhere", pid=1, lanes=[])
    await database.execute("update holdfast.worker set seen_at = seen_at - interval '1 hour'")
    async with asyncio.timeout(60):
        await Worker(database, [pipeline], pace=replace(QUICK, lease_seconds=3600)).run(until_idle=True)
    (job,) = await jobs_of(database)
    assert job["state"] == "done"


async def _done(_: Attempt) -> Done:
    return Done()
