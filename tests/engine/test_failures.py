"""A failure says what failed, whose fault it is and what happens next."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from holdfast.db.connection import Database
from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.engine.policy import Policy, Rule
from holdfast.engine.queue import Lane, Queue, Submission, submit
from holdfast.engine.retries import told_retries
from holdfast.errors import Category, CorruptInput, NetworkTimeout, PhaseError, RateLimited, StorageUnavailable
from tests.conftest import Clock
from tests.engine.scenario import WORKER, Scenario, begin, many_connections, no_work, plain

KEYS = {
    "component",
    "category",
    "error",
    "error_type",
    "error_code",
    "failed_at",
    "correlation_id",
    "retry_count",
    "max_retries",
    "retryable",
    "details",
}
PARSING = Pipeline(
    "documents",
    (
        Phase(
            name="extract", handler=no_work, queued="parse_queued", working="parsing", done="parsed", component="parse"
        ),
        Phase(name="embed", handler=no_work, done="complete", component="embedding"),
    ),
    starts="uploaded",
)


async def test_last_error_of_a_retry_has_exactly_the_agreed_keys(database: Database) -> None:
    scenario = await begin(database, PARSING)
    submitted = await scenario.submit_one()
    await scenario.fail_once("extract", StorageUnavailable("disk full", error_code="ENOSPC", details={"disk": "a"}))
    error = (await scenario.job(submitted.job_id))["last_error"]
    assert set(error) == KEYS | {"retry_at"}
    told = {key: error[key] for key in KEYS - {"failed_at", "correlation_id", "details"}}
    assert told == {
        "component": "parse",
        "category": "storage_unavailable",
        "error": "disk full",
        "error_type": "StorageUnavailable",
        "error_code": "ENOSPC",
        "retry_count": 0,
        "max_retries": 3,
        "retryable": True,
    }
    assert error["details"]["disk"] == "a"
    assert error["correlation_id"]


async def test_last_error_of_a_permanent_failure_names_no_moment_of_retry(database: Database) -> None:
    scenario = await begin(database, PARSING)
    submitted = await scenario.submit_one()
    await scenario.fail_once("extract", CorruptInput("no pages"))
    error = (await scenario.job(submitted.job_id))["last_error"]
    assert set(error) == KEYS
    assert error["retryable"] is False


async def test_times_in_last_error_carry_their_zone(database: Database) -> None:
    scenario = await begin(database, PARSING)
    submitted = await scenario.submit_one()
    attempt = await scenario.claim_one("extract")
    item = f'[{{"job_id": {attempt.job_id}, "token": {attempt.token}, "category": "timeout"}}]'
    async with database.transaction() as connection:
        await connection.execute("set local timezone to 'Asia/Kolkata'")
        await connection.execute("set local datestyle to 'SQL, DMY'")
        await connection.execute("select holdfast.fail($1::text::jsonb)", item)
    error = (await scenario.job(submitted.job_id))["last_error"]
    for key in ("failed_at", "retry_at"):
        assert datetime.fromisoformat(error[key]).utcoffset() is not None


async def test_failed_job_keeps_the_status_it_had(database: Database) -> None:
    scenario = await begin(database, PARSING)
    submitted = await scenario.submit_one()
    await scenario.fail_once("extract", NetworkTimeout("reset"))
    job = await scenario.job(submitted.job_id)
    assert (job["state"], job["status"]) == ("failed", "parsing")


async def test_a_failure_nobody_can_explain_is_of_component_and_category_unknown_to_its_phase(
    database: Database,
) -> None:
    scenario = await begin(database, PARSING)
    submitted = await scenario.submit_one()
    attempt = await scenario.claim_one("extract")
    item = f'[{{"job_id": {attempt.job_id}, "token": {attempt.token}, "component": "unknown"}}]'
    await database.execute("select holdfast.fail($1::text::jsonb)", item)
    error = (await scenario.job(submitted.job_id))["last_error"]
    assert (error["component"], error["category"], error["error"]) == ("unknown", "unknown", "no message")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("state = 'failed'", {"retryable parse", "permanent parse", "retryable embedding"}),
        ("state = 'failed' and last_error->>'retryable' = 'true'", {"retryable parse", "retryable embedding"}),
        ("state = 'failed' and last_error->>'component' = 'parse'", {"retryable parse", "permanent parse"}),
    ],
)
async def test_failed_jobs_are_one_query(database: Database, condition: str, expected: set[str]) -> None:
    scenario = await begin(database, PARSING)
    for organisation in ("retryable embedding", "permanent parse", "retryable parse", "not failed"):
        await scenario.submit(organisation=organisation)
    attempts = {attempt.document.organisation: attempt for attempt in await scenario.claim("extract", 4)}
    await scenario.settle([attempts["retryable embedding"]])
    await scenario.fail([attempts["permanent parse"]], CorruptInput("no pages"))
    await scenario.fail([attempts["retryable parse"]], NetworkTimeout("reset"))
    await scenario.fail_once("embed", NetworkTimeout("reset"))
    rows = await database.fetch(f"select organisation from holdfast.pipeline_job where {condition}")
    assert {row["organisation"] for row in rows} == expected


async def test_retries_wait_60_300_and_900_seconds_with_jitter_then_the_job_is_dead(
    database: Database, clock: Clock
) -> None:
    scenario = await begin(database, PARSING)
    submitted = await scenario.submit_one()
    for wait_seconds in (60, 300, 900):
        await scenario.fail_once("extract", NetworkTimeout("reset"))
        error = (await scenario.job(submitted.job_id))["last_error"]
        waited = datetime.fromisoformat(error["retry_at"]) - datetime.fromisoformat(error["failed_at"])
        assert timedelta(seconds=wait_seconds - 1) <= waited <= timedelta(seconds=wait_seconds * 1.1)
        await clock.advance(seconds=wait_seconds * 1.1)
    await scenario.fail_once("extract", NetworkTimeout("reset"))
    job = await scenario.job(submitted.job_id)
    assert (job["state"], job["retry_count"], job["last_error"]["retryable"]) == ("deadletter", 3, False)


async def test_retry_is_not_claimed_before_its_time(database: Database, clock: Clock) -> None:
    scenario = await begin(database, PARSING)
    await scenario.submit()
    await scenario.fail_once("extract", NetworkTimeout("reset"))
    await clock.advance(seconds=30)
    assert await scenario.claim("extract") == []


async def test_permanent_failure_is_never_retried_by_itself(database: Database, clock: Clock) -> None:
    scenario = await begin(database, PARSING)
    submitted = await scenario.submit_one()
    await scenario.fail_once("extract", CorruptInput("no pages"))
    await clock.advance(days=365)
    assert await scenario.claim("extract") == []
    assert (await scenario.job(submitted.job_id))["state"] == "failed"


async def test_dead_letter_is_never_retried_by_itself(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract", policy=Policy.retrying("once", (1,))))
    await scenario.submit()
    for _ in range(2):
        await scenario.fail_once("extract", NetworkTimeout("reset"))
        await clock.advance(days=1)
    await clock.advance(days=365)
    assert await scenario.claim("extract") == []


async def test_success_after_a_failure_leaves_no_error_on_the_job(database: Database, clock: Clock) -> None:
    scenario = await begin(database, PARSING)
    submitted = await scenario.submit_one()
    await scenario.fail_once("extract", NetworkTimeout("reset"))
    await clock.advance(minutes=2)
    await scenario.settle_once("extract")
    job = await scenario.job(submitted.job_id)
    cleared = ("last_error", "error_code", "error_meta", "retry_reason")
    assert [job[column] for column in cleared] == [None] * 4
    assert job["retry_count"] == 0


async def test_retry_chain_is_one_query(database: Database, clock: Clock) -> None:
    scenario = await begin(database, PARSING)
    submitted = await scenario.submit_one()
    for _ in range(2):
        await scenario.fail_once("extract", NetworkTimeout("reset"))
        await clock.advance(hours=1)
    await scenario.settle_once("extract")
    await scenario.settle_once("embed")
    rows = await database.fetch(
        """
        with recursive chain as (
            select id, parent_phase_id, phase, outcome, attempt from holdfast.pipeline_phase
            where job_id = $1 and phase = 'extract' and outcome = 'completed'
            union all
            select p.id, p.parent_phase_id, p.phase, p.outcome, p.attempt
            from chain c join holdfast.pipeline_phase p on p.id = c.parent_phase_id
        )
        select phase, outcome, attempt from chain
        """,
        submitted.job_id,
    )
    assert [tuple(row) for row in rows] == [
        ("extract", "completed", 3),
        ("extract", "failed", 2),
        ("extract", "failed", 1),
    ]


async def test_money_of_failed_and_finished_attempts_adds_up_on_the_job(database: Database, clock: Clock) -> None:
    scenario = await begin(database, PARSING)
    submitted = await scenario.submit_one()
    await scenario.fail_once("extract", NetworkTimeout("reset", cost_usd=Decimal("0.01")))
    await clock.advance(minutes=2)
    await scenario.settle_once("extract", Done(cost_usd=Decimal("0.02")))
    await scenario.settle_once("embed", Done(cost_usd=Decimal("0.003")))
    assert (await scenario.job(submitted.job_id))["total_cost_usd"] == Decimal("0.033")


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("a.phase", {"extract": "0.03", "embed": "0.05"}),
        ("a.organisation", {"acme": "0.06", "other": "0.02"}),
        ("d.source_platform", {"youtube": "0.06", "upload": "0.02"}),
    ],
)
async def test_cost_is_known_by_phase_organisation_and_platform(
    database: Database, by: str, expected: dict[str, str]
) -> None:
    scenario = await begin(database, PARSING)
    await scenario.submit(source_platform="youtube")
    await scenario.settle_once("extract", Done(cost_usd=Decimal("0.01")))
    await scenario.settle_once("embed", Done(cost_usd=Decimal("0.05")))
    await scenario.submit(organisation="other")
    await scenario.settle_once("extract", Done(cost_usd=Decimal("0.02")))
    rows = await database.fetch(
        f"""
        select {by} as name, sum(a.cost_usd) as cost_usd
        from holdfast.pipeline_phase a join holdfast.document d on d.id = a.document_id
        group by {by}
        """
    )
    assert {row["name"]: row["cost_usd"] for row in rows} == {name: Decimal(cost) for name, cost in expected.items()}


async def test_a_thousand_concurrent_failures_of_one_document_count_a_thousand(dsn: str) -> None:
    callers, each = 25, 40
    endless = Policy("endless", {Category.UNKNOWN: Rule(max_retries=None)}, two_level=True)
    pipelines = [plain("only", name=f"pipeline_{n}", policy=endless) for n in range(callers)]
    async with many_connections(dsn, callers) as database:
        queue = Queue(database)
        await queue.register(pipelines)
        await queue.register_worker(WORKER, host="test", pid=1, lanes=[])
        (first,) = await submit(database, pipelines[0].name, [Submission(organisation="acme")])
        again = Submission(organisation="acme", document_id=first.document_id)
        for pipeline in pipelines[1:]:
            await submit(database, pipeline.name, [again])
        await asyncio.gather(*(_fail_again_and_again(database, pipeline.name, each) for pipeline in pipelines))
        document = await Scenario(database, queue, "").document(first.document_id)
    assert document["failure_count"] == callers * each
    assert document["failures"] == {"unknown": callers * each}


async def _fail_again_and_again(database: Database, pipeline: str, times: int) -> None:
    scenario = Scenario(database, Queue(database), pipeline)
    failed = 0
    while failed < times:
        # A claim of another caller may be putting this job back right now: then it is passed over.
        attempts = await scenario.queue.claim(WORKER, [Lane(pipeline, "only", 1)])
        await scenario.fail(attempts, PhaseError("no idea"))
        failed += len(attempts)


async def test_groups_of_failures_with_documents_and_providers_in_opposite_order_do_not_deadlock(dsn: str) -> None:
    names = [f"pipeline_{n}" for n in range(4)]
    async with many_connections(dsn, 8) as database:
        queue = Queue(database)
        await queue.register([_calling_one_provider(name) for name in names])
        await queue.register_worker(WORKER, host="test", pid=1, lanes=[])
        items = [Submission(organisation=f"organisation {n}") for n in range(200)]
        first = await submit(database, names[0], items)
        documents = [
            replace(item, document_id=submitted.document_id) for item, submitted in zip(items, first, strict=True)
        ]
        for n, name in enumerate(names[1:], 1):
            await submit(database, name, documents[:: -1 if n % 2 else 1])
        groups = [await queue.claim(WORKER, [Lane(name, "only", 200)]) for name in names]
        scenario = Scenario(database, queue, "")
        limited = RateLimited("slow down", retry_after_seconds=60)
        results = await asyncio.gather(*(scenario.fail(group, limited) for group in groups))
    assert [set(result.values()) for result in results] == [{"failed"}] * 4


def _calling_one_provider(name: str) -> Pipeline:
    return Pipeline(name, (Phase(name="only", handler=no_work, done="complete", provider="model"),))


async def test_retries_of_a_failure_that_allows_none_are_told_to_be_of_others(database: Database, clock: Clock) -> None:
    scenario = await begin(database, plain("extract"))
    job_id = (await scenario.submit_one()).job_id
    await scenario.fail_once("extract", NetworkTimeout("reset"))
    first = (await scenario.job(job_id))["last_error"]
    await clock.advance(hours=1)
    await scenario.fail_once("extract", CorruptInput("not a PDF"))
    second = (await scenario.job(job_id))["last_error"]
    assert [told_retries(error["retry_count"], error["max_retries"]) for error in (first, second)] == [
        "0 of 3 used",
        "1 used for other failures; this one allows none",
    ]
