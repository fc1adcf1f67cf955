"""Cancelling: waiting or running, exactly one of cancel and settle wins."""

import asyncio

import pytest

from holdfast.db.connection import Database
from holdfast.errors import CorruptInput, NetworkTimeout
from tests.conftest import Clock
from tests.engine.scenario import Scenario, begin, many_connections, plain, told_to_workers

CANCEL = "select result from holdfast.cancel(array[$1]::bigint[], 'ann', 'not needed')"


@pytest.mark.parametrize("condition", ["queued", "working", "held", "failed", "failed for good"])
async def test_job_is_cancelled_when(database: Database, clock: Clock, condition: str) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    await _bring_into(scenario, condition)
    assert await database.fetchval(CANCEL, submitted.job_id) == "cancelled"
    assert (await scenario.job(submitted.job_id))["state"] == "cancelled"
    await database.execute("select holdfast.release(id) from holdfast.hold")
    await clock.advance(days=1)
    assert await scenario.claim("extract") == []


async def test_running_attempt_ends_as_cancelled_and_can_write_nothing(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    attempts = await scenario.claim("extract")
    await database.fetchval(CANCEL, submitted.job_id)
    assert set((await scenario.settle(attempts)).values()) == {"stale"}
    assert await scenario.outcomes(submitted.job_id) == ["cancelled"]


async def test_worker_is_told_which_attempt_was_cancelled(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    heard = []
    async with told_to_workers(database) as told, asyncio.timeout(30):
        await database.fetchval(CANCEL, attempt.job_id)
        while not any(payload.startswith("dropped") for payload in heard):
            heard.append(await told.get())
    assert heard[-1] == f"dropped {attempt.job_id} {attempt.token}"


@pytest.mark.parametrize("state", ["done", "deadletter", "cancelled"])
async def test_what_is_over_is_not_cancelled(database: Database, clock: Clock, state: str) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    await _end_as(scenario, clock, state)
    assert await database.fetchval(CANCEL, submitted.job_id) == f"is_{state}"
    assert (await scenario.job(submitted.job_id))["state"] == state


async def test_cancelling_many_answers_for_each(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit(2)
    await scenario.settle_once("extract")
    jobs = [one.job_id for one in submitted]
    rows = await database.fetch("select * from holdfast.cancel($1::bigint[])", [*jobs, 4711])
    assert [tuple(row) for row in rows] == [(jobs[0], "is_done"), (jobs[1], "cancelled"), (4711, "not_found")]


async def test_cancelling_is_written_to_the_audit_log(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    await database.fetchval(CANCEL, submitted.job_id)
    row = await database.fetchrow("select actor, action, job_id, reason, before ->> 'state' from holdfast.audit_log")
    assert tuple(row or ()) == ("ann", "cancel", submitted.job_id, "not needed", "queued")


async def test_cancel_racing_settle_has_exactly_one_winner_in_200_rounds(dsn: str) -> None:
    async with many_connections(dsn, 8) as database:
        scenario = await begin(database, plain("extract"))
        await scenario.submit(200)
        attempts = await scenario.claim("extract", 200)
        results = []
        for n, attempt in enumerate(attempts):
            settling = scenario.settle([attempt])
            cancelling = database.fetchval(CANCEL, attempt.job_id)
            # Whoever is named first is sent first: both orders get their chance.
            if n % 2:
                (settled, cancelled) = await asyncio.gather(settling, cancelling)
            else:
                (cancelled, settled) = await asyncio.gather(cancelling, settling)
            (outcome,) = await scenario.outcomes(attempt.job_id)
            state = (await scenario.job(attempt.job_id))["state"]
            results.append((*settled.values(), cancelled, outcome, state))
    settle_won = ("settled", "is_done", "completed", "done")
    cancel_won = ("stale", "cancelled", "cancelled", "cancelled")
    assert set(results) == {settle_won, cancel_won}


async def _bring_into(scenario: Scenario, condition: str) -> None:
    if condition == "working":
        await scenario.claim("extract")
    elif condition == "held":
        await scenario.database.execute("""select holdfast.hold('{"organisation": "acme"}')""")
        assert await scenario.claim("extract") == []
    elif condition == "failed":
        await scenario.fail_once("extract", NetworkTimeout("reset"))
    elif condition == "failed for good":
        await scenario.fail_once("extract", CorruptInput("no pages"))


async def _end_as(scenario: Scenario, clock: Clock, state: str) -> None:
    if state == "done":
        await scenario.settle_once("extract")
    elif state == "cancelled":
        await scenario.database.execute("select holdfast.cancel(array(select id from holdfast.pipeline_job))")
    while state == "deadletter" and (attempts := await scenario.claim("extract")):
        await scenario.fail(attempts, NetworkTimeout("reset"))
        await clock.advance(hours=1)
