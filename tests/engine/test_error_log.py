"""Every error is logged for operators, kept 30 days, and a log that breaks never breaks the work."""

import json
from datetime import timedelta

import pytest

from holdfast.db.connection import Database
from holdfast.errors import CorruptInput, DatabaseUnusable, NetworkTimeout, RateLimited
from tests.conftest import Clock
from tests.engine.scenario import LEASE_SECONDS, STORIES, Scenario, begin

COUNT = "select count(*) from holdfast.error_log"


async def test_every_error_is_logged_with_its_attempt_and_job(database: Database, clock: Clock) -> None:
    scenario = await begin(database, STORIES)
    submitted = await scenario.submit_one(source_platform="youtube")
    await scenario.fail_once("enrich", NetworkTimeout("reset by peer", error_code="ECONNRESET"))
    await clock.advance(hours=12)
    await scenario.fail_once("enrich", CorruptInput("not a story"))
    rows = await database.fetch(
        """
        select job_id, document_id, organisation, pipeline, phase, platform, component, category, error_type,
               error_code, message, attempt, charged
        from holdfast.error_log order by id
        """
    )
    where = (submitted.job_id, submitted.document_id, "acme", "stories", "enrich", "youtube", "enrichment")
    assert [tuple(row) for row in rows] == [
        (*where, "network_timeout", "NetworkTimeout", "ECONNRESET", "reset by peer", 1, True),
        (*where, "corrupt_input", "CorruptInput", "CORRUPT_INPUT", "not a story", 2, True),
    ]


async def test_what_does_not_count_is_logged_as_not_charged(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await scenario.submit()
    await scenario.fail_once("enrich", RateLimited("slow down", retry_after_seconds=30))
    assert await database.fetchval("select charged from holdfast.error_log") is False


async def test_logged_text_is_cut_at_a_thousand_characters(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await scenario.submit()
    attempt = await scenario.claim_one("enrich")
    item = {"job_id": attempt.job_id, "token": attempt.token, "error": "é" * 5_000}
    await database.execute("select holdfast.fail($1::text::jsonb)", json.dumps([item]))
    assert await database.fetchval("select message from holdfast.error_log") == "é" * 1_000


async def test_errors_of_one_cause_share_a_fingerprint(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await scenario.submit(3)
    for text in ('page 7 of "a.pdf" is broken', 'page 12 of "b.pdf" is broken', "no pages at all"):
        await scenario.fail_once("enrich", CorruptInput(text))
    rows = await database.fetch("select count(*) from holdfast.error_log group by fingerprint order by 1")
    assert [row["count"] for row in rows] == [1, 2]


async def test_sweep_removes_errors_older_than_thirty_days_and_no_others(database: Database, clock: Clock) -> None:
    scenario = await begin(database, STORIES)
    await scenario.submit(2)
    await scenario.fail_once("enrich", CorruptInput("old"))
    await clock.advance(days=29, hours=23)
    await scenario.fail_once("enrich", CorruptInput("new"))
    await scenario.queue.sweep(LEASE_SECONDS)
    assert await database.fetchval(COUNT) == 2
    await clock.advance(hours=2)
    await scenario.queue.sweep(LEASE_SECONDS)
    assert await database.fetchval("select array_agg(message) from holdfast.error_log") == ["new"]


async def test_sweep_cleans_up_at_most_once_a_minute(database: Database, clock: Clock) -> None:
    scenario = await begin(database, STORIES)
    await scenario.queue.sweep(LEASE_SECONDS)
    first = await database.fetchval("select cleaned_at from holdfast.maintenance")
    await clock.advance(seconds=30)
    await scenario.queue.sweep(LEASE_SECONDS)
    assert await database.fetchval("select cleaned_at from holdfast.maintenance") == first
    await clock.advance(seconds=31)
    await scenario.queue.sweep(LEASE_SECONDS)
    assert await database.fetchval("select cleaned_at from holdfast.maintenance") - first > timedelta(minutes=1)


@pytest.mark.parametrize(
    "breakage",
    [
        "alter table holdfast.error_log add constraint nothing_fits check (false) not valid",
        "alter table holdfast.error_log rename to gone",
        "alter table holdfast.error_log drop column message",
        "drop index holdfast.error_log_fingerprint;"
        " alter table holdfast.error_log alter column fingerprint type integer using 0",
    ],
    ids=["refuses every row", "is gone", "lost a column", "has no room for the cause"],
)
async def test_failure_is_recorded_although_the_log(database: Database, breakage: str) -> None:
    scenario = await begin(database, STORIES)
    submitted = await scenario.submit_one()
    await database.execute(breakage)
    await _fail_and_expect_it_recorded(scenario, submitted.job_id)


async def test_failure_is_recorded_although_someone_keeps_the_log_locked(database: Database) -> None:
    scenario = await begin(database, STORIES)
    submitted = await scenario.submit_one()
    async with database.transaction() as connection:
        await connection.execute("lock table holdfast.error_log in access exclusive mode")
        await _fail_and_expect_it_recorded(scenario, submitted.job_id)


async def _fail_and_expect_it_recorded(scenario: Scenario, job_id: int) -> None:
    await scenario.fail_once("enrich", NetworkTimeout("reset"))
    assert (await scenario.job(job_id))["state"] == "failed"
    assert await scenario.outcomes(job_id) == ["failed"]


@pytest.mark.parametrize("role", ["holdfast_worker", "holdfast_api", "holdfast_readonly", "holdfast_tenant", None])
async def test_ordinary_roles_are_refused_the_log(database: Database, guest: str, role: str | None) -> None:
    for deed in ("select from {}", "delete from {}", "update {} set message = ''", "truncate {}"):
        with pytest.raises(DatabaseUnusable, match="permission denied"):
            await _do_as(database, role or guest, deed.format("holdfast.error_log"))


async def _do_as(database: Database, role: str, statement: str) -> None:
    async with database.transaction() as connection:
        await connection.execute(f'set local role "{role}"')
        await connection.execute(statement)


async def test_a_worker_role_logs_through_the_function_it_may_call(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await scenario.submit()
    attempt = await scenario.claim_one("enrich")
    async with database.transaction() as connection:
        await connection.execute("set local role holdfast_worker")
        item = f'[{{"job_id": {attempt.job_id}, "token": {attempt.token}}}]'
        await connection.execute("select holdfast.fail($1::text::jsonb)", item)
    assert await database.fetchval(COUNT) == 1
