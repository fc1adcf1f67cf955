"""Calls that make no sense: claims, endings, money, operators' acts, declarations. Refused clearly, nothing written."""

import json
from decimal import Decimal
from typing import Any

import pytest

from holdfast.db.connection import Database
from holdfast.engine.pipeline import Done, GiveBack
from holdfast.engine.queue import Lane, Submission, submit
from holdfast.errors import Conflict, InvalidInput, NotFound, UsageError
from tests.engine.recorded import nested, recorded
from tests.engine.scenario import STORIES, WORKER, Scenario, begin, plain


@pytest.fixture
async def scenario(database: Database) -> Scenario:
    return await begin(database, plain("extract", "embed"))


@pytest.fixture
async def stories(database: Database) -> Scenario:
    return await begin(database, STORIES)


# -- claims, endings and renewals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lanes", "says"),
    [
        ('{"pipeline": "documents"}', "array"),
        ('"extract"', "array"),
        ('[{"pipeline": "documents", "phase": "extract", "limit": "many"}]', "many"),
        ('[{"pipeline": "documents", "phase": "extract", "limit": 99999999999999}]', "out of range"),
        ("[1]", "array of objects"),
    ],
)
async def test_malformed_lanes_are_refused(scenario: Scenario, lanes: str, says: str) -> None:
    await scenario.submit()
    with pytest.raises(InvalidInput, match=says):
        await scenario.database.fetch(f"select * from holdfast.claim('{WORKER}', $1::text::jsonb)", lanes)
    assert await scenario.states() == {"queued": 1}


@pytest.mark.parametrize("limit", [0, -1, -(2**31)])
async def test_claim_without_a_free_slot_takes_nothing(scenario: Scenario, limit: int) -> None:
    await scenario.submit()
    assert await scenario.claim("extract", limit) == []


async def test_claim_of_an_unknown_phase_takes_nothing(scenario: Scenario) -> None:
    await scenario.submit()
    assert await scenario.queue.claim(WORKER, [Lane("documents", "paint", 1), Lane("pictures", "extract", 1)]) == []


async def test_unknown_worker_may_not_claim(scenario: Scenario) -> None:
    with pytest.raises(Conflict, match='worker "stranger" is not registered'):
        await scenario.claim("extract", worker="stranger")


@pytest.mark.parametrize("name", ["", "w" * 256])
async def test_worker_needs_a_name_of_sensible_length(scenario: Scenario, name: str) -> None:
    with pytest.raises(InvalidInput, match="worker"):
        await scenario.register_worker(name)


@pytest.mark.parametrize("verb", ["settle", "fail", "give_back"])
@pytest.mark.parametrize(
    ("items", "says"),
    [
        ('{"job_id": 1, "token": 1}', "array|object"),
        ('[{"job_id": "one", "token": 1}]', "one"),
        ('[{"job_id": 1, "token": 99999999999999999999}]', "out of range"),
        ('"nonsense"', "array|scalar"),
    ],
)
async def test_malformed_endings_are_refused(scenario: Scenario, verb: str, items: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        await scenario.database.fetch(f"select * from holdfast.{verb}($1::text::jsonb)", items)


@pytest.mark.parametrize("verb", ["settle", "fail"])
async def test_ending_of_a_job_that_never_was_is_stale(scenario: Scenario, verb: str) -> None:
    rows = await scenario.database.fetch(
        f"select result from holdfast.{verb}($1::text::jsonb)",
        json.dumps([{"job_id": 404, "token": 1}, {"job_id": -1, "token": 0}, {"token": 1}, {}]),
    )
    assert [row["result"] for row in rows] == ["stale"] * 4


@pytest.mark.parametrize("cost", ["-0.01", '"NaN"', '"1"', "1e400", "true", "{}"])
@pytest.mark.parametrize("verb", ["settle", "fail", "give_back"])
async def test_cost_that_makes_no_sense_is_refused_and_the_claim_stays(
    scenario: Scenario, verb: str, cost: str
) -> None:
    await scenario.submit(2)
    good, bad = await scenario.claim("extract", 2)
    items = (
        f'[{{"job_id": {good.job_id}, "token": {good.token}}},'
        f' {{"job_id": {bad.job_id}, "token": {bad.token}, "cost_usd": {cost}}}]'
    )
    with pytest.raises(InvalidInput, match="cost_usd"):
        await scenario.database.fetch(f"select * from holdfast.{verb}($1::text::jsonb)", items)
    assert await scenario.states() == {"working": 2}
    assert (await recorded(scenario.database))["attempts"] == 0


@pytest.mark.parametrize(
    "cost", [Decimal("-1"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e400"), Decimal("Infinity")]
)
async def test_outcome_with_a_cost_that_makes_no_sense_is_refused(scenario: Scenario, cost: Decimal) -> None:
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    with pytest.raises(InvalidInput):
        await scenario.settle([attempt], Done(cost_usd=cost))
    assert await scenario.states() == {"working": 1}


@pytest.mark.parametrize(
    "output",
    ["a\0b", "\ud800", float("nan"), nested(5000), b"raw", {1, 2}],
    ids=["nul", "surrogate", "nan", "deep", "bytes", "set"],
)
async def test_outcome_that_cannot_be_stored_is_refused(scenario: Scenario, output: Any) -> None:
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    with pytest.raises(InvalidInput):
        await scenario.settle([attempt], Done(output))
    assert await scenario.states() == {"working": 1}


async def test_attempt_settled_twice_in_one_call_is_settled_once(scenario: Scenario) -> None:
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    assert await scenario.settle([attempt, attempt]) == {(attempt.job_id, attempt.token): "settled"}
    assert await scenario.outcomes(attempt.job_id) == ["completed"]


async def test_stale_handle_beside_the_live_one_of_the_same_job_writes_nothing(scenario: Scenario) -> None:
    made = await scenario.submit_one()
    stale = await scenario.claim_one("extract")
    await scenario.queue.give_back([(stale, GiveBack("somewhere else"))])
    live = await scenario.claim_one("extract")
    answers = await scenario.queue.settle(
        [(stale, Done(metadata={"by": "stale"})), (live, Done(metadata={"by": "live"}))]
    )
    assert answers == {(stale.job_id, stale.token): "stale", (live.job_id, live.token): "settled"}
    assert (await scenario.document(made.document_id))["metadata"] == {"by": "live"}


async def test_metadata_of_two_jobs_of_one_document_settled_together_is_kept(scenario: Scenario) -> None:
    await scenario.queue.register([plain("paint", name="pictures")])
    made = await scenario.submit_one()
    await submit(scenario.database, "pictures", [Submission(organisation="acme", document_id=made.document_id)])
    lanes = [Lane("documents", "extract", 1), Lane("pictures", "paint", 1)]
    one, two = await scenario.queue.claim(WORKER, lanes)
    await scenario.queue.settle([(one, Done(metadata={"pages": 3})), (two, Done(metadata={"colours": 7}))])
    assert (await scenario.document(made.document_id))["metadata"] == {"pages": 3, "colours": 7}


@pytest.mark.parametrize("retry_after", ["-5", '"NaN"', "1e300", "0"])
async def test_absurd_retry_after_holds_for_a_day_at_most(stories: Scenario, retry_after: str) -> None:
    await stories.submit()
    attempt = await stories.claim_one("enrich")
    item = (
        f'[{{"job_id": {attempt.job_id}, "token": {attempt.token}, "category": "rate_limit",'
        f' "retry_after_seconds": {retry_after}}}]'
    )
    await stories.database.fetch("select * from holdfast.fail($1::text::jsonb)", item)
    # It may begin and end at once: on a slow machine it is written when its millisecond is over.
    sound = (
        "select until between created_at - interval '4 s' and holdfast.clock() + interval '1 day' from holdfast.hold"
    )
    assert await stories.database.fetchval(sound) is True


async def test_failure_of_an_unknown_category_is_treated_as_unknown(scenario: Scenario) -> None:
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    item = json.dumps([{"job_id": attempt.job_id, "token": attempt.token, "category": "gremlins"}])
    await scenario.database.fetch("select * from holdfast.fail($1::text::jsonb)", item)
    job = await scenario.job(attempt.job_id)
    assert (job["state"], job["retry_count"]) == ("failed", 1)


@pytest.mark.parametrize("progress", [-1.0, 2.0, "NaN"])
async def test_progress_beyond_its_bounds_is_brought_within(scenario: Scenario, progress: float | str) -> None:
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    item = json.dumps([{"job_id": attempt.job_id, "token": attempt.token, "progress": progress}])
    await scenario.database.fetch(f"select * from holdfast.heartbeat('{WORKER}', $1::text::jsonb)", item)
    assert (await scenario.job(attempt.job_id))["progress"] in (0, 1)


# -- money ------------------------------------------------------------------------------------------------------------

AMOUNTS = ["-0.01", "'NaN'", "1e400", "'Infinity'", "null"]


@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.parametrize("verb", ["reserve_budget", "settle_budget"])
async def test_amount_that_makes_no_sense_is_refused(stories: Scenario, verb: str, amount: str) -> None:
    await stories.submit()
    attempt = await stories.claim_one("enrich")
    with pytest.raises(InvalidInput, match="USD makes no sense"):
        await stories.database.fetch(
            f"select * from holdfast.{verb}($1, $2, {amount}::numeric)", attempt.job_id, attempt.token
        )


@pytest.mark.parametrize("amount", AMOUNTS)
async def test_daily_limit_that_makes_no_sense_is_refused(stories: Scenario, amount: str) -> None:
    with pytest.raises(InvalidInput, match="USD makes no sense"):
        await stories.database.fetch(f"select holdfast.set_budget('stories', {amount}::numeric)")
    assert (await recorded(stories.database))["acts"] == 0


async def test_reservation_of_a_phase_without_a_budget_is_refused(scenario: Scenario) -> None:
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    with pytest.raises(InvalidInput, match="names no budget"):
        await scenario.queue.reserve_budget(attempt, Decimal("0.01"))


async def test_reservation_stays_with_the_budget_it_began_with(stories: Scenario) -> None:
    await stories.submit()
    attempt = await stories.claim_one("enrich")
    await stories.reserve(attempt, "1")
    await stories.database.execute("select holdfast.set_budget('stories', 3, 'acme')")
    await stories.reserve(attempt, "1")
    ledger = """
        select d.reserved_usd = coalesce(sum(e.reserved_usd), 0) as equal
        from holdfast.budget_day d left join holdfast.budget_entry e using (budget_id, day)
        group by d.budget_id, d.day, d.reserved_usd
    """
    assert all(row["equal"] for row in await stories.database.fetch(ledger))


# -- operators --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["cancel", "retry", "reset"])
async def test_bogus_jobs_are_not_found_one_by_one(scenario: Scenario, verb: str) -> None:
    rows = await scenario.database.fetch(f"select * from holdfast.{verb}($1)", [404, -1, 2**62, 404])
    assert {row["job_id"]: row["result"] for row in rows} == dict.fromkeys([404, -1, 2**62], "not_found")
    assert (await recorded(scenario.database))["acts"] == 0


@pytest.mark.parametrize("verb", ["cancel", "retry", "reset"])
@pytest.mark.parametrize("jobs", [["first"], [2**70], "1"], ids=repr)
async def test_job_ids_of_a_wrong_type_are_refused(scenario: Scenario, verb: str, jobs: object) -> None:
    with pytest.raises(InvalidInput):
        await scenario.database.fetch(f"select * from holdfast.{verb}($1)", jobs)


async def test_retry_of_an_unknown_phase_says_so(scenario: Scenario) -> None:
    made = await scenario.submit_one()
    await scenario.database.fetch("select * from holdfast.cancel($1)", [made.job_id])
    answer = await scenario.database.fetchval("select result from holdfast.retry($1, 'paint')", [made.job_id])
    assert answer == "no_such_phase"


@pytest.mark.parametrize(
    ("filter_", "error"),
    [
        ('{"colour": "red"}', InvalidInput),
        ('{"state": "retryable"}', InvalidInput),
        ('{"state": 5}', InvalidInput),
        ('{"pipeline": "paperwork"}', NotFound),
        ('{"phase": "paint"}', NotFound),
        ('{"status": "painted"}', NotFound),
        ('{"metadata": ["ward"]}', InvalidInput),
        ('{"text": "..."}', InvalidInput),
        ('{"ids": "all"}', InvalidInput),
        ('{"ids": [1e400]}', InvalidInput),
        ('{"ids": ["first"]}', InvalidInput),
        ('{"stuck_for_minutes": "long"}', InvalidInput),
        ('{"stuck_for_minutes": -1}', InvalidInput),
        ('["state"]', InvalidInput),
        ('"failed"', InvalidInput),
    ],
)
async def test_filter_that_makes_no_sense_is_refused(scenario: Scenario, filter_: str, error: type[UsageError]) -> None:
    with pytest.raises(error):
        await scenario.database.fetch("select holdfast.matching_jobs($1::text::jsonb)", filter_)


async def test_negative_limit_is_refused(scenario: Scenario) -> None:
    with pytest.raises(InvalidInput, match="limit of -1 makes no sense"):
        await scenario.database.fetch("select holdfast.matching_jobs('{}', -1)")


@pytest.mark.parametrize("minutes", ["-1", "null"])
async def test_stuck_for_less_than_nothing_is_refused(scenario: Scenario, minutes: str) -> None:
    with pytest.raises(InvalidInput, match="minutes makes no sense"):
        await scenario.database.fetch(f"select holdfast.requeue_stuck({minutes})")


@pytest.mark.parametrize(
    ("scope", "until"),
    [
        ("{}", "null"),
        ("null", "null"),
        ('{"budget": "stories"}', "null"),
        ('{"organisation": 5}', "null"),
        ('{"organisation": "acme"}', "'2001-01-01'"),
        ('["acme"]', "null"),
        ('"acme"', "null"),
    ],
)
async def test_hold_that_makes_no_sense_is_refused(scenario: Scenario, scope: str, until: str) -> None:
    with pytest.raises(InvalidInput):
        await scenario.database.fetch(f"select holdfast.hold('{scope}', {until}::timestamptz)")
    assert (await recorded(scenario.database))["holds"] == 0


async def test_release_of_a_hold_that_is_not_there_is_not_found(scenario: Scenario) -> None:
    with pytest.raises(NotFound, match="no hold 404"):
        await scenario.database.fetch("select holdfast.release(404)")


# -- declarations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "declaration",
    [
        "{}",
        '{"name": "Has Spaces", "starts": "a", "phases": [], "statuses": {}}',
        '{"name": "empty", "starts": "a", "phases": [], "statuses": {}}',
        '{"name": "text", "starts": "a", "phases": "none", "statuses": {}}',
        '"documents"',
        "[]",
    ],
)
async def test_malformed_pipeline_is_refused(scenario: Scenario, declaration: str) -> None:
    with pytest.raises(InvalidInput):
        await scenario.database.fetch("select holdfast.register_pipeline($1::text::jsonb)", declaration)
    assert await scenario.database.fetchval("select count(*) from holdfast.pipeline") == 1


@pytest.mark.parametrize("rules", ["[]", '"none"', '[{"category": "unknown", "max_retries": -1}]', "[5]"])
async def test_malformed_policy_is_refused(scenario: Scenario, rules: str) -> None:
    with pytest.raises(InvalidInput):
        await scenario.database.fetch(
            "select holdfast.register_policy($1::text::jsonb)", f'{{"name": "odd", "rules": {rules}}}'
        )
    assert not await scenario.database.fetchval("select exists (select from holdfast.policy where name = 'odd')")
