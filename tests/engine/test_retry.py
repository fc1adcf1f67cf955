"""Operators' retry and reset: where a job goes on, what is refused, and what is written down."""

import asyncio
from decimal import Decimal

import pytest

from holdfast.db.connection import Database
from holdfast.engine.pipeline import Done
from holdfast.errors import Conflict, CorruptInput, NetworkTimeout
from tests.conftest import Clock
from tests.engine.scenario import STORIES, Scenario, begin, plain, until_someone_waits_for_a_lock

PHASES = ("extract", "chunk", "embed")


async def test_retry_goes_on_at_the_phase_that_failed(database: Database) -> None:
    scenario = await begin(database, plain(*PHASES))
    submitted = await scenario.submit_one()
    await scenario.settle_once("extract", Done({"text": "t"}))
    await scenario.fail_once("chunk", CorruptInput("no"))
    assert await _retry(database, submitted.job_id) == "queued"
    attempt = await scenario.claim_one("chunk")
    assert (attempt.input, attempt.number, attempt.run) == ({"text": "t"}, 1, 1)


async def test_retry_is_linked_to_the_attempt_it_retries(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    await scenario.fail_once("extract", CorruptInput("no"))
    await _retry(database, submitted.job_id)
    await scenario.settle_once("extract")
    rows = await database.fetch("select id, parent_phase_id from holdfast.pipeline_phase order by id")
    assert rows[1]["parent_phase_id"] == rows[0]["id"]


async def test_retry_starts_the_counters_anew(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    await _exhaust(scenario, clock)
    await _retry(database, submitted.job_id)
    job = await scenario.job(submitted.job_id)
    assert (job["state"], job["retry_count"], job["crash_count"], job["finished_at"]) == ("queued", 0, 0, None)
    await scenario.fail_once("extract", NetworkTimeout("reset"))
    assert (await scenario.job(submitted.job_id))["state"] == "failed"


@pytest.mark.parametrize("state", ["failed", "deadletter", "cancelled", "held"])
async def test_retry_reopens(database: Database, clock: Clock, state: str) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    await _bring_into(scenario, clock, state)
    assert (await scenario.job(submitted.job_id))["state"] == state
    assert await _retry(database, submitted.job_id) == "queued"


@pytest.mark.parametrize("state", ["queued", "working", "done"])
@pytest.mark.parametrize("verb", ["retry", "reset"])
async def test_what_runs_or_is_done_is_left_alone(database: Database, clock: Clock, state: str, verb: str) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    await _bring_into(scenario, clock, state)
    assert await _call(database, verb, submitted.job_id) == {"done": "already_completed"}.get(state, f"is_{state}")
    assert (await scenario.job(submitted.job_id))["state"] == state


async def test_retry_of_an_earlier_phase_runs_it_and_all_later_ones_again(database: Database) -> None:
    scenario = await begin(database, plain(*PHASES))
    submitted = await scenario.submit_one()
    await scenario.settle_once("extract", Done({"text": "t"}, cost_usd=Decimal("0.01")))
    await scenario.settle_once("chunk", Done({"chunks": 1}))
    await scenario.fail_once("embed", CorruptInput("no"))
    assert await _retry(database, submitted.job_id, "chunk") == "queued"
    attempt = await scenario.claim_one("chunk")
    assert (attempt.run, attempt.input) == (2, {"text": "t"})
    await scenario.settle([attempt], Done({"chunks": 2}))
    assert (await scenario.settle_once("embed")).input == {"chunks": 2}
    assert (await scenario.job(submitted.job_id))["state"] == "done"
    rows = await database.fetch(
        "select phase, run from holdfast.pipeline_phase where outcome = 'completed' order by id"
    )
    assert [tuple(row) for row in rows] == [("extract", 1), ("chunk", 1), ("chunk", 2), ("embed", 2)]


async def test_retry_of_the_first_phase_gets_what_the_job_was_submitted_with(database: Database) -> None:
    scenario = await begin(database, plain(*PHASES))
    submitted = await scenario.submit_one(input={"url": "u"})
    await scenario.settle_once("extract", Done({"text": "t"}))
    await scenario.fail_once("chunk", CorruptInput("no"))
    await _retry(database, submitted.job_id, "extract")
    assert (await scenario.claim_one("extract")).input == {"url": "u"}


@pytest.mark.parametrize(("phase", "answer"), [("embed", "phase_not_reached"), ("nonsense", "no_such_phase")])
async def test_retry_of_a_phase_the_job_has_not_reached_is_refused(database: Database, phase: str, answer: str) -> None:
    scenario = await begin(database, plain(*PHASES))
    submitted = await scenario.submit_one()
    await scenario.fail_once("extract", CorruptInput("no"))
    assert await _retry(database, submitted.job_id, phase) == answer
    assert (await scenario.job(submitted.job_id))["state"] == "failed"


async def test_retry_is_refused_while_the_document_has_another_live_job(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    first = await scenario.submit_one()
    await database.execute("select holdfast.cancel(array[$1]::bigint[])", first.job_id)
    await scenario.submit(document_id=first.document_id)
    assert await _retry(database, first.job_id) == "document_has_another_live_job"


async def test_retry_of_a_job_that_does_not_exist_says_so(database: Database) -> None:
    assert await _retry(database, 4711) == "not_found"


async def test_retry_opens_a_permanently_failed_document(database: Database) -> None:
    scenario = await begin(database, STORIES)
    submitted = await scenario.submit_one()
    await scenario.fail_once("enrich", CorruptInput("no"))
    await _retry(database, submitted.job_id)
    document = await scenario.document(submitted.document_id)
    assert (document["failure_state"], document["failure_count"]) == (None, 0)


async def test_retry_keeps_the_count_of_a_document_that_may_still_fail(database: Database) -> None:
    scenario = await begin(database, STORIES)
    submitted = await scenario.submit_one()
    await scenario.fail_once("enrich", NetworkTimeout("reset"))
    await _retry(database, submitted.job_id)
    document = await scenario.document(submitted.document_id)
    assert (document["failure_state"], document["failure_count"]) == ("pending", 1)


async def test_reset_starts_over_from_the_first_phase(database: Database) -> None:
    scenario = await begin(database, plain(*PHASES))
    submitted = await scenario.submit_one(input={"url": "u"})
    await scenario.settle_once("extract", Done({"text": "t"}))
    await scenario.fail_once("chunk", CorruptInput("no"))
    assert await _call(database, "reset", submitted.job_id) == "queued"
    attempt = await scenario.claim_one("extract")
    assert (attempt.run, attempt.input) == (2, {"url": "u"})


async def test_reset_clears_the_documents_failures(database: Database) -> None:
    scenario = await begin(database, STORIES)
    submitted = await scenario.submit_one()
    await scenario.fail_once("enrich", NetworkTimeout("reset"))
    await _call(database, "reset", submitted.job_id)
    document = await scenario.document(submitted.document_id)
    cleared = ("failure_state", "failure_count", "failures", "last_failure", "cool_down_until")
    assert [document[column] for column in cleared] == [None, 0, {}, None, None]


@pytest.mark.parametrize("verb", ["retry", "reset"])
async def test_reopening_is_written_to_the_audit_log(database: Database, clock: Clock, verb: str) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    await _exhaust(scenario, clock)
    await database.execute(
        f"select holdfast.{verb}(array[$1]::bigint[], p_actor => 'ann', p_reason => 'mended')", submitted.job_id
    )
    row = await database.fetchrow(
        "select actor, action, job_id, reason, before ->> 'state', after ->> 'state', id from holdfast.audit_log"
    )
    assert row is not None
    assert tuple(row)[:6] == ("ann", verb, submitted.job_id, "mended", "deadletter", "queued")
    assert (await scenario.job(submitted.job_id))["audit_id"] == row["id"]


async def test_what_was_refused_is_not_written_to_the_audit_log(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    await _retry(database, submitted.job_id)
    assert await database.fetchval("select count(*) from holdfast.audit_log") == 0


async def test_dead_letter_cannot_be_reopened_behind_the_audit_logs_back(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit()
    await _exhaust(scenario, clock)
    with pytest.raises(Conflict, match="may not go from deadletter to queued"):
        await database.execute("update holdfast.pipeline_job set state = 'queued'")


async def test_stuck_jobs_are_taken_back_uncharged(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    stuck, moving = await scenario.submit(2)
    attempts = {attempt.job_id: attempt for attempt in await scenario.claim("extract", 2)}
    await clock.advance(minutes=10)
    attempts[moving.job_id].progress(0.5)
    await scenario.queue.heartbeat("worker-1", attempts.values())
    rows = await database.fetch("select holdfast.requeue_stuck(5, p_phase => 'extract')")
    assert [row[0] for row in rows] == [stuck.job_id]
    job = await scenario.job(stuck.job_id)
    assert (job["state"], job["retry_count"]) == ("queued", 0)
    assert await scenario.outcomes(stuck.job_id) == ["released"]


async def test_of_two_jobs_of_one_document_retried_at_once_one_goes_on(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    first = await scenario.submit_one()
    await database.execute("select holdfast.cancel(array[$1::bigint])", first.job_id)
    second = await scenario.submit_one(document_id=first.document_id)
    await database.execute("select holdfast.cancel(array[$1::bigint])", second.job_id)
    retry = "select result from holdfast.retry(array[$1::bigint])"
    async with database.transaction() as other:
        assert await other.fetchval(retry, first.job_id) == "queued"
        retrying = asyncio.create_task(database.fetchval(retry, second.job_id))
        await until_someone_waits_for_a_lock(database)
    assert await retrying == "document_has_another_live_job"


async def _retry(database: Database, job_id: int, phase: str | None = None) -> str:
    result: str = await database.fetchval("select result from holdfast.retry(array[$1]::bigint[], $2)", job_id, phase)
    return result


async def _call(database: Database, verb: str, job_id: int) -> str:
    result: str = await database.fetchval(f"select result from holdfast.{verb}(array[$1]::bigint[])", job_id)
    return result


async def _bring_into(scenario: Scenario, clock: Clock, state: str) -> None:
    if state == "working":
        await scenario.claim("extract")
    elif state == "done":
        await scenario.settle_once("extract")
    elif state == "failed":
        await scenario.fail_once("extract", NetworkTimeout("reset"))
    elif state == "deadletter":
        await _exhaust(scenario, clock)
    elif state == "cancelled":
        await scenario.database.execute("select holdfast.cancel(array(select id from holdfast.pipeline_job))")
    elif state == "held":
        await scenario.database.execute("""select holdfast.hold('{"organisation": "acme"}')""")
        assert await scenario.claim("extract") == []


async def _exhaust(scenario: Scenario, clock: Clock) -> None:
    while attempts := await scenario.claim("extract"):
        await scenario.fail(attempts, NetworkTimeout("reset"))
        await clock.advance(hours=1)
