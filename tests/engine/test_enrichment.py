"""The enrichment policy: each category has its own patience, counted on the job and on its document."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

import pytest

from holdfast.db.connection import Database
from holdfast.engine.classify import classify
from holdfast.engine.policy import Policy, Rule
from holdfast.engine.queue import Lane, Queue, Submission, Submitted, submit
from holdfast.errors import (
    AnswerNotJson,
    BudgetExceeded,
    Category,
    ContentPolicyViolation,
    NetworkTimeout,
    PhaseError,
    RateLimited,
    TokenLimitExceeded,
)
from tests.conftest import Clock
from tests.engine.scenario import STORIES, WORKER, Scenario, begin, many_connections, plain


@dataclass(frozen=True, slots=True)
class Patience:
    """One row of the table of categories, as a charged failure meets it."""

    error: PhaseError
    document_limit: int
    wait: timedelta | None


TABLE = [
    Patience(RateLimited("429"), 5, timedelta(hours=24)),
    Patience(NetworkTimeout("reset"), 5, timedelta(hours=12)),
    Patience(AnswerNotJson("<html>"), 3, timedelta(hours=12)),
    Patience(ContentPolicyViolation("no"), 1, None),
    Patience(TokenLimitExceeded("too long"), 1, None),
    Patience(PhaseError("what?"), 5, timedelta(hours=12)),
]
each_category = pytest.mark.parametrize("row", TABLE, ids=lambda row: row.error.category)


@each_category
async def test_category_waits_as_its_row_says(database: Database, clock: Clock, row: Patience) -> None:
    scenario = await begin(database, STORIES)
    submitted = await scenario.submit_one()
    await scenario.fail_once("enrich", row.error)
    (job, now) = await scenario.job(submitted.job_id), await database.fetchval("select holdfast.clock()")
    if row.wait is None:
        assert job["ready_at"] is None
    else:
        assert row.wait - timedelta(minutes=1) < job["ready_at"] - now <= row.wait


@each_category
async def test_document_fails_as_often_as_its_row_says_and_is_then_permanent(
    database: Database, clock: Clock, row: Patience
) -> None:
    scenario = await begin(database, STORIES)
    submitted = await scenario.submit_one()
    for failed in range(1, row.document_limit + 1):
        assert (await scenario.document(submitted.document_id))["failure_state"] != "permanent_failure"
        await scenario.fail_once("enrich", row.error)
        assert (await scenario.document(submitted.document_id))["failure_count"] == failed
        # A new job when the last one is over; otherwise this answers with the one that waits.
        await scenario.submit(document_id=submitted.document_id)
        await clock.advance(hours=25)
    document = await scenario.document(submitted.document_id)
    assert document["failure_state"] == "permanent_failure"
    assert document["failures"] == {row.error.category: row.document_limit}


@each_category
async def test_job_has_three_attempts_or_one_if_permanent(database: Database, clock: Clock, row: Patience) -> None:
    scenario = await begin(database, STORIES)
    submitted = await scenario.submit_one()
    attempts = 0
    while found := await scenario.claim("enrich"):
        await scenario.fail(found, row.error)
        attempts += 1
        await clock.advance(hours=25)
    assert attempts == min(row.document_limit, 3)
    expected = "failed" if row.wait is None else "deadletter"
    assert (await scenario.job(submitted.job_id))["state"] == expected


@pytest.mark.usefixtures("noon")
async def test_budget_spent_for_two_days_then_free(database: Database, clock: Clock) -> None:
    scenario = await begin(database, STORIES)
    submitted = await scenario.submit_one()
    for _ in range(2):
        await scenario.fail_once("enrich", BudgetExceeded("spent"))
        job, document = await scenario.job(submitted.job_id), await scenario.document(submitted.document_id)
        assert (job["state"], job["retry_count"]) == ("held", 0)
        assert (document["failure_state"], document["failure_count"]) == (None, 0)
        assert await scenario.claim("enrich") == []
        await clock.advance(days=1)
    await scenario.settle_once("enrich")
    job, document = await scenario.job(submitted.job_id), await scenario.document(submitted.document_id)
    assert (job["state"], job["last_error"]) == ("done", None)
    assert (document["failure_state"], document["failure_count"]) == ("success", 0)


@pytest.mark.usefixtures("noon")
async def test_budget_refusals_without_end_never_count(database: Database, clock: Clock) -> None:
    scenario = await begin(database, STORIES)
    submitted = await scenario.submit_one()
    for _ in range(10):
        await scenario.fail_once("enrich", BudgetExceeded("spent"))
        await clock.advance(days=1)
    await scenario.put_back_what_is_due()
    job = await scenario.job(submitted.job_id)
    assert (job["state"], job["retry_count"]) == ("queued", 0)


@pytest.mark.usefixtures("noon")
async def test_budget_refusal_waits_until_the_budgets_next_day(database: Database, clock: Clock) -> None:
    scenario = await begin(database, STORIES)
    await database.execute("select holdfast.set_budget('stories', 5, p_time_zone => 'Asia/Kolkata')")
    await scenario.submit()
    await scenario.fail_once("enrich", BudgetExceeded("spent"))
    until = await database.fetchval("select until at time zone 'Asia/Kolkata' from holdfast.hold")
    today = await database.fetchval("select (holdfast.clock() at time zone 'Asia/Kolkata')::date")
    assert (until.date(), until.time().isoformat()) == (today + timedelta(days=1), "00:00:00")


async def test_json_failing_three_times_is_permanent_at_the_third(database: Database, clock: Clock) -> None:
    scenario = await begin(database, STORIES)
    submitted = await scenario.submit_one()
    seen = []
    for _ in range(3):
        await scenario.fail_once("enrich", AnswerNotJson("<html>"))
        job, document = await scenario.job(submitted.job_id), await scenario.document(submitted.document_id)
        seen.append((job["state"], document["failure_state"], document["failure_count"]))
        await clock.advance(hours=12)
    assert seen == [("failed", "pending", 1), ("failed", "pending", 2), ("deadletter", "permanent_failure", 3)]


async def test_success_after_two_failures_clears_everything(database: Database, clock: Clock) -> None:
    scenario = await begin(database, STORIES)
    submitted = await scenario.submit_one()
    for error in (AnswerNotJson("<html>"), NetworkTimeout("reset")):
        await scenario.fail_once("enrich", error)
        await clock.advance(hours=12)
    await scenario.settle_once("enrich")
    job, document = await scenario.job(submitted.job_id), await scenario.document(submitted.document_id)
    assert (job["state"], job["retry_count"], job["last_error"]) == ("done", 0, None)
    cleared = ("failure_state", "failure_count", "failures", "last_failure", "cool_down_until")
    assert [document[column] for column in cleared] == ["success", 0, {}, None, None]


async def test_new_job_of_a_failing_document_waits_out_its_cool_down(database: Database, clock: Clock) -> None:
    scenario = await begin(database, STORIES)
    first = await scenario.submit_one()
    await scenario.fail_once("enrich", NetworkTimeout("reset"))
    await database.execute("select holdfast.cancel(array[$1]::bigint[])", first.job_id)
    again = await scenario.submit_one(document_id=first.document_id)
    assert again.job_id != first.job_id
    await clock.advance(hours=11)
    assert await scenario.claim("enrich") == []
    await clock.advance(hours=1)
    assert (await scenario.claim_one("enrich")).job_id == again.job_id


async def test_nothing_runs_for_a_permanently_failed_document_until_someone_resets_it(database: Database) -> None:
    scenario = await begin(database, STORIES)
    first = await scenario.submit_one()
    await scenario.fail_once("enrich", ContentPolicyViolation("no"))
    again = await scenario.submit_one(document_id=first.document_id)
    assert again == Submitted(first.document_id, first.job_id, "permanent_failure")
    await database.execute("select holdfast.reset(array[$1]::bigint[])", first.job_id)
    await scenario.settle_once("enrich")
    assert (await scenario.document(first.document_id))["failure_state"] == "success"


async def test_permanent_failure_stays_when_another_job_of_the_document_fails_once_more(database: Database) -> None:
    scenario = await begin(database, STORIES)
    first = await scenario.submit_one()
    other = await begin(database, plain("read", name="other", policy=STORIES.phases[0].policy))
    await other.submit(document_id=first.document_id)
    attempt = await other.claim_one("read")
    await scenario.fail_once("enrich", ContentPolicyViolation("no"))
    await other.fail([attempt], NetworkTimeout("reset"))
    assert (await scenario.document(first.document_id))["failure_state"] == "permanent_failure"


async def test_concurrent_failures_see_each_other_when_the_documents_limit_is_reached(dsn: str) -> None:
    limit = 16
    policy = Policy("counted", {Category.UNKNOWN: Rule(max_retries=None, document_limit=limit)}, two_level=True)
    names = [f"pipeline_{n}" for n in range(limit)]
    async with many_connections(dsn, limit) as database:
        queue = Queue(database)
        await queue.register([plain("only", name=name, policy=policy) for name in names])
        await queue.register_worker(WORKER, host="test", pid=1, lanes=[])
        (first,) = await submit(database, names[0], [Submission(organisation="acme")])
        again = Submission(organisation="acme", document_id=first.document_id)
        for name in names[1:]:
            await submit(database, name, [again])
        attempts = await queue.claim(WORKER, [Lane(name, "only", 1) for name in names])
        failure = classify(PhaseError("what?"))
        await asyncio.gather(*(queue.fail([(attempt, failure)]) for attempt in attempts))
        document = await Scenario(database, queue, "").document(first.document_id)
    assert (document["failure_count"], document["failure_state"]) == (limit, "permanent_failure")


async def test_patience_changed_in_a_row_is_used_by_the_next_failure(database: Database, clock: Clock) -> None:
    scenario = await begin(database, STORIES)
    submitted = await scenario.submit_one()
    await database.execute(
        "update holdfast.policy_rule set wait_seconds = '{5}' where policy = 'enrichment' and category = 'json_parse'"
    )
    await scenario.fail_once("enrich", AnswerNotJson("<html>"))
    await clock.advance(seconds=5)
    assert (await scenario.claim_one("enrich")).job_id == submitted.job_id
