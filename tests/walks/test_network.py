"""The line between worker and database is cut, falls silent, lies about time, or has a pooler on it."""

import asyncio
import secrets
import time

import pytest

from holdfast.db.connection import Database, connect
from holdfast.engine.attempt import Attempt
from holdfast.engine.lifeline import Pace
from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.engine.queue import Queue, Submission, submit
from holdfast.engine.worker import Worker
from holdfast.settings import Settings
from tests.pooler import Pooler
from tests.proxy import Proxy
from tests.walks.conftest import ATTENTIVE, WAIT_SECONDS, Walks
from tests.walks.losing import lose_named

# Declares nobody lost: that is for the other worker.
CAUTIOUS = {"heartbeat_seconds": 0.4, "lease_seconds": 2.0, "sweep_seconds": 3600.0}


@pytest.mark.parametrize("delivered", [False, True], ids=["before_commit_arrives", "after_commit_arrived"])
async def test_connection_cut_at_commit_settles_exactly_once(walks: Walks, delivered: bool) -> None:
    async with Proxy(walks.dsn) as proxy:
        await walks.start(dsn=proxy.dsn)
        (warm_up,) = await walks.submit()
        await walks.until_state(warm_up, "done")
        proxy.cut_at(b"COMMIT", delivered=delivered)
        (job_id,) = await walks.submit()
        await walks.until_state(job_id, "done")
        assert proxy.cuts == 1
    # A claim whose answer was cut off goes back uncharged; whatever else was under way settles once.
    outcomes = [each for each in await walks.outcomes(job_id) if each[1] != "released"]
    assert outcomes == [("first", "completed"), ("second", "completed"), ("third", "completed")]
    assert await walks.results(job_id) == ["first", "second", "third"]
    assert set(walks.calls(job_id).values()) == {1}


async def test_job_of_a_worker_cut_off_in_silence_is_taken_over_and_it_learns_so_once_back(
    walks: Walks, dsn: str
) -> None:
    began, stopped = asyncio.Event(), asyncio.Event()

    async def endless(attempt: Attempt) -> Done:
        if attempt.token > 1:
            return Done()
        began.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            stopped.set()
            raise
        return Done()

    pipeline = Pipeline("silent", phases=(Phase(name="only", handler=endless, done="complete"),))
    async with Proxy(dsn) as proxy, connect(Settings(database_url=proxy.dsn), command_seconds=2) as cut_off:
        await Queue(walks.database).register([pipeline])
        worker = Worker(cut_off, [pipeline], pace=Pace(**CAUTIOUS))
        running = asyncio.create_task(worker.run())
        (submitted,) = await submit(walks.database, "silent", [Submission(organisation="acme")])
        await began.wait()
        proxy.blackhole()
        other = Worker(walks.database, [pipeline], pace=Pace(**ATTENTIVE))
        helping = asyncio.create_task(other.run())
        await lose_named(walks.database, worker.id)
        await walks.until_state(submitted.job_id, "done")
        assert not stopped.is_set()
        proxy.restore()
        async with asyncio.timeout(WAIT_SECONDS):
            await stopped.wait()
        for each in (worker, other):
            each.stop()
        await asyncio.gather(running, helping)
    assert await walks.outcomes(submitted.job_id) == [("only", "lost"), ("only", "completed")]


async def test_wrong_clock_of_a_worker_has_no_effect(walks: Walks, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600)

    async def handle(attempt: Attempt) -> Done:
        return Done()

    pipeline = Pipeline("early", phases=(Phase(name="only", handler=handle, done="complete"),))
    worker = Worker(walks.database, [pipeline])
    await Queue(walks.database).register([pipeline])
    (submitted,) = await submit(walks.database, "early", [Submission(organisation="acme")])
    await worker.run(until_idle=True)
    row = await walks.database.fetchrow(
        "select ended_at - clock_timestamp() as ahead, outcome from holdfast.pipeline_phase where job_id = $1",
        submitted.job_id,
    )
    assert row is not None
    assert row["outcome"] == "completed"
    assert abs(row["ahead"].total_seconds()) < 60


async def test_notifications_lost_behind_a_pooler_are_made_up_for_by_polling(walks: Walks, dsn: str) -> None:
    async with Pooler(dsn) as pooler:
        worker = await walks.start(dsn=pooler.dsn)
        await asyncio.sleep(1)
        (job_id,) = await walks.submit()
        await walks.until_state(job_id, "done")
        assert worker.running


async def test_worker_short_of_connections_waits_and_goes_on(walks: Walks, database: Database, dsn: str) -> None:
    """Superusers are exempt from limits, so it logs in as an ordinary member of holdfast_worker."""
    login = f"holdfast_test_{secrets.token_hex(6)}"
    await database.execute(f"create role {login} login connection limit 3 in role holdfast_worker")
    await database.execute(f"grant all on walk_result to {login}")
    try:
        worker = await walks.start(dsn=dsn.replace("postgres@", f"{login}@", 1))
        jobs = await walks.submit(200)
        await database.execute(f"alter role {login} connection limit 1")
        for job_id in jobs:
            await walks.until_state(job_id, "done")
        assert worker.running
    finally:
        await walks.end()
        await database.execute(f"drop owned by {login}")
        await database.execute(f"drop role {login}")
