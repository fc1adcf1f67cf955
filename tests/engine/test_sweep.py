"""Sweeping: what dead workers held goes on elsewhere, uncharged, and whoever keeps killing workers is found."""

import asyncio

import pytest

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.policy import Policy, Rule
from holdfast.engine.queue import Handle
from holdfast.errors import Category, Conflict, NetworkTimeout
from tests.conftest import Clock
from tests.engine.scenario import (
    LEASE_SECONDS,
    STORIES,
    WORKER,
    Scenario,
    begin,
    many_connections,
    plain,
    until_someone_waits_for_a_lock,
)


async def test_jobs_of_a_silent_worker_go_back_uncharged(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit(3)
    await scenario.claim("extract", 3)
    swept = await _fall_silent(scenario, clock)
    assert sorted(swept) == [one.job_id for one in submitted]
    for one in submitted:
        job = await scenario.job(one.job_id)
        assert (job["state"], job["retry_count"]) == ("queued", 0)
        assert await scenario.outcomes(one.job_id) == ["lost"]


async def test_sweep_passes_over_a_document_that_someone_keeps_locked(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    first, second = await scenario.submit(2)
    await scenario.claim("extract", 2)
    await clock.advance(seconds=LEASE_SECONDS + 1)
    async with database.transaction() as other:
        await other.execute("select from holdfast.document where id = $1 for update", first.document_id)
        assert (await scenario.queue.sweep(LEASE_SECONDS))["lost_jobs"] == [second.job_id]
    assert (await scenario.queue.sweep(LEASE_SECONDS))["lost_jobs"] == [first.job_id]


async def test_timeouts_pass_over_a_document_that_someone_keeps_locked(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    first, second = await scenario.submit(2)
    (attempt, _) = await scenario.claim("extract", 2)
    await clock.advance(seconds=attempt.limit_seconds + 1)
    async with database.transaction() as other:
        await other.execute("select from holdfast.document where id = $1 for update", first.document_id)
        assert await database.fetchval("select updated_jobs from holdfast.check_timeouts()") == [second.job_id]
    assert await database.fetchval("select updated_jobs from holdfast.check_timeouts()") == [first.job_id]


async def test_worker_that_beats_in_time_keeps_its_jobs(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit()
    attempts = await scenario.claim("extract")
    for _ in range(3):
        await clock.advance(seconds=LEASE_SECONDS - 2)
        await scenario.queue.heartbeat(WORKER, attempts)
        assert (await scenario.queue.sweep(LEASE_SECONDS))["lost_jobs"] == []
    assert set((await scenario.settle(attempts)).values()) == {"settled"}


async def test_lost_attempt_is_never_charged_whatever_the_policy_says(database: Database, clock: Clock) -> None:
    impatient = Policy("impatient", {Category.UNKNOWN: Rule(max_retries=0, document_limit=1)}, two_level=True)
    scenario = await begin(database, plain("extract", policy=impatient))
    submitted = await scenario.submit_one()
    await scenario.claim("extract")
    await _fall_silent(scenario, clock)
    assert (await scenario.job(submitted.job_id))["state"] == "queued"
    document = await scenario.document(submitted.document_id)
    assert (document["failure_state"], document["failure_count"]) == (None, 0)


async def test_heartbeat_names_only_the_claims_that_are_lost(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit(2)
    kept, cancelled = await scenario.claim("extract", 2)
    await database.execute("select holdfast.cancel(array[$1]::bigint[])", cancelled.job_id)
    pulse = await scenario.queue.heartbeat(WORKER, [kept, cancelled])
    assert (pulse.alive, pulse.stale) == (True, _handles([cancelled]))


async def test_lost_worker_claims_nothing_before_it_is_back(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit()
    await _fall_silent(scenario, clock)
    with pytest.raises(Conflict, match="register it under a new id"):
        await scenario.claim("extract")
    assert (await scenario.queue.heartbeat(WORKER, [])).alive
    assert len(await scenario.claim("extract")) == 1


async def test_stopped_worker_can_neither_claim_nor_register_again(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.queue.stop_worker(WORKER)
    assert not (await scenario.queue.heartbeat(WORKER, [])).alive
    with pytest.raises(Conflict, match="register it under a new id"):
        await scenario.claim("extract")
    with pytest.raises(Conflict, match="register under a new id"):
        await scenario.register_worker(WORKER)


async def test_what_a_stopped_worker_still_held_goes_back_at_once(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    await scenario.claim("extract")
    await scenario.queue.stop_worker(WORKER)
    assert (await scenario.queue.sweep(LEASE_SECONDS))["lost_jobs"] == [submitted.job_id]


async def test_eight_sweepers_at_once_take_each_job_back_once(dsn: str) -> None:
    async with many_connections(dsn, 8) as database:
        scenario = await begin(database, plain("extract"))
        submitted = await scenario.submit(200)
        await scenario.claim("extract", 200)
        await database.execute("update holdfast.worker set seen_at = seen_at - interval '1 hour'")
        swept = await asyncio.gather(*(scenario.queue.sweep(LEASE_SECONDS) for _ in range(8)))
        lost = [job_id for sweep in swept for job_id in sweep["lost_jobs"]]
        crashes = await database.fetchval("select array_agg(distinct crash_count) from holdfast.pipeline_job")
    assert sorted(lost) == sorted(one.job_id for one in submitted)
    assert crashes == [1]


async def test_sweepers_and_settling_workers_agree_on_who_was_first(dsn: str) -> None:
    async with many_connections(dsn, 12) as database:
        scenario = await begin(database, plain("extract"))
        await scenario.submit(200)
        attempts = await scenario.claim("extract", 200)
        await database.execute("update holdfast.worker set seen_at = seen_at - interval '1 hour'")
        settling = [scenario.settle([attempt]) for attempt in attempts]
        sweeping = [scenario.queue.sweep(LEASE_SECONDS) for _ in range(8)]
        await asyncio.gather(*settling[:100], *sweeping, *settling[100:])
        rows = await database.fetch(
            "select outcome, j.state from holdfast.pipeline_phase join holdfast.pipeline_job j on j.id = job_id"
        )
    # Those that were taken back before they were settled are settled all the same: nobody had claimed them.
    assert {tuple(row) for row in rows} <= {("completed", "done"), ("lost", "done")}
    assert sum(row["outcome"] == "completed" for row in rows) == 200


async def test_job_that_kills_its_worker_three_times_is_dead_and_its_neighbours_finish(
    database: Database, clock: Clock
) -> None:
    scenario = await begin(database, plain("extract"))
    killer, *neighbours = await scenario.submit(6)
    for n in range(20):
        worker = f"mortal {n}"
        await scenario.register_worker(worker)
        attempts = await scenario.claim("extract", 10, worker=worker)
        if killer.job_id in {attempt.job_id for attempt in attempts}:
            await _fall_silent(scenario, clock)
        else:
            await scenario.settle(attempts)
    assert (await scenario.job(killer.job_id))["state"] == "deadletter"
    assert await scenario.outcomes(killer.job_id) == ["lost"] * 3
    assert {(await scenario.job(one.job_id))["state"] for one in neighbours} == {"done"}


async def test_error_of_a_job_that_kills_workers_says_so(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    killer = await scenario.submit_one()
    for n in range(3):
        await scenario.register_worker(f"mortal {n}")
        await scenario.claim("extract", worker=f"mortal {n}")
        await _fall_silent(scenario, clock)
    error = (await scenario.job(killer.job_id))["last_error"]
    assert (error["category"], error["retryable"]) == ("worker_lost", False)
    assert "mortal 2" in error["error"]


async def test_suspects_run_one_at_a_time_per_worker(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit(4)
    await _kill_twice(scenario, clock)
    for worker in ("careful", "other"):
        await scenario.register_worker(worker)
        assert len(await scenario.claim("extract", 10, worker=worker)) == 1
        assert await scenario.claim("extract", 10, worker=worker) == []


async def test_suspect_that_succeeds_is_a_suspect_no_more(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract", "embed"))
    submitted = await scenario.submit_one()
    await _kill_twice(scenario, clock)
    await scenario.register_worker("careful")
    await scenario.settle(await scenario.claim("extract", worker="careful"))
    assert (await scenario.job(submitted.job_id))["crash_count"] == 0


async def test_operators_retry_clears_the_suspicion(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    await _kill_twice(scenario, clock)
    await scenario.register_worker("third")
    await scenario.claim("extract", worker="third")
    await _fall_silent(scenario, clock)
    await database.execute("select holdfast.retry(array[$1]::bigint[])", submitted.job_id)
    job = await scenario.job(submitted.job_id)
    assert (job["state"], job["crash_count"]) == ("queued", 0)


async def test_sweep_also_ends_what_passed_its_limit(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    attempts = await scenario.claim("extract")
    await clock.advance(seconds=121)
    await scenario.queue.heartbeat(WORKER, attempts)
    assert (await scenario.queue.sweep(LEASE_SECONDS))["timed_out_jobs"] == [submitted.job_id]


async def test_workers_gone_for_a_week_are_forgotten(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    await _fall_silent(scenario, clock)
    await clock.advance(days=8)
    await scenario.queue.sweep(LEASE_SECONDS)
    assert await database.fetchval("select count(*) from holdfast.worker") == 0


async def test_sweep_and_a_failure_of_the_same_document_do_not_deadlock(dsn: str) -> None:
    async with many_connections(dsn, 4) as database:
        stories = await begin(database, STORIES)
        documents = await begin(database, plain("extract"))
        await stories.register_worker("gone")
        await stories.submit(2)
        gone = await stories.claim_one("enrich", worker="gone")
        own = await stories.claim_one("enrich")
        await documents.submit(document_id=own.document.id)
        also_gone = await documents.claim_one("extract", worker="gone")
        for attempt in (gone, own):
            assert await stories.reserve(attempt, "0.003")
        await database.execute("update holdfast.worker set stopped_at = now() where id = 'gone'")
        async with database.transaction() as connection:
            await connection.execute("select from holdfast.budget_day for update")
            sweeping = asyncio.ensure_future(stories.queue.sweep(LEASE_SECONDS))
            await until_someone_waits_for_a_lock(database)
            failing = asyncio.ensure_future(stories.fail([own], NetworkTimeout("reset")))
            await until_someone_waits_for_a_lock(database, 2)
        assert sorted((await sweeping)["lost_jobs"]) == sorted([gone.job_id, also_gone.job_id])
        assert set((await failing).values()) == {"failed"}


async def _fall_silent(scenario: Scenario, clock: Clock) -> list[int]:
    """Every worker stays silent for longer than its lease, and someone sweeps."""
    await clock.advance(seconds=LEASE_SECONDS + 1)
    lost: list[int] = (await scenario.queue.sweep(LEASE_SECONDS))["lost_jobs"]
    return lost


async def _kill_twice(scenario: Scenario, clock: Clock) -> None:
    for worker in ("first victim", "second victim"):
        await scenario.register_worker(worker)
        await scenario.claim("extract", 10, worker=worker)
        await _fall_silent(scenario, clock)


def _handles(attempts: list[Attempt]) -> frozenset[Handle]:
    return frozenset((attempt.job_id, attempt.token) for attempt in attempts)
