"""Daily budgets: never passed, never left unspent while someone waits, and refusals count nothing."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import asyncpg
import pytest

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.classify import Failure
from holdfast.engine.executor import perform
from holdfast.engine.overview import Overview
from holdfast.engine.pipeline import Done, GiveBack
from holdfast.errors import BudgetExceeded, Conflict, InvalidInput, NetworkTimeout
from tests.conftest import Clock
from tests.engine.scenario import (
    LEASE_SECONDS,
    STORIES,
    Scenario,
    begin,
    many_connections,
    plain,
    until_someone_waits_for_a_lock,
)

pytestmark = pytest.mark.usefixtures("noon")

ESTIMATE = "0.003"


async def test_64_concurrent_reservers_never_pass_the_limit_and_spend_it_to_within_one_reservation(dsn: str) -> None:
    async with many_connections(dsn, 64) as database:
        scenario = await begin(database, STORIES)
        await _set_limit(database, "0.100")
        await scenario.submit(128)
        attempts = await scenario.claim("enrich", 128)
        pairs = zip(attempts[::2], attempts[1::2], strict=True)
        results = await asyncio.gather(*(_reserve_both(scenario, pair) for pair in pairs))
        day = await _today(database)
    granted = sum(map(sum, results))
    assert day["reserved_usd"] == granted * Decimal(ESTIMATE)
    assert Decimal("0.100") - Decimal(ESTIMATE) < day["reserved_usd"] <= Decimal("0.100")
    assert day["refusals"] == 128 - granted


async def test_reserving_and_settling_at_once_leaves_ledger_and_day_equal(dsn: str) -> None:
    async with many_connections(dsn, 32) as database:
        scenario = await begin(database, STORIES)
        await _set_limit(database, "0.100")
        await scenario.submit(200)
        attempts = await scenario.claim("enrich", 200)
        await asyncio.gather(*(_reserve_and_settle(scenario, attempt, n) for n, attempt in enumerate(attempts)))
        day = await _today(database)
        ledger = await database.fetchrow(
            "select sum(reserved_usd), sum(spent_usd), sum(overrun_usd) from holdfast.budget_entry"
        )
    assert tuple(ledger or ()) == (day["reserved_usd"], day["spent_usd"], day["overrun_usd"])
    assert day["reserved_usd"] == 0
    assert day["spent_usd"] <= Decimal("0.100")


async def test_the_table_itself_refuses_to_pass_the_limit(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await _reserve_for_new_job(scenario)
    with pytest.raises(asyncpg.CheckViolationError, match="budget_is_never_passed"):
        await database.execute("update holdfast.budget_day set spent_usd = limit_usd")


async def test_a_budget_nobody_set_is_five_dollars_a_day(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await scenario.submit()
    reservation = await scenario.queue.reserve_budget(await scenario.claim_one("enrich"), Decimal(ESTIMATE))
    assert (reservation.granted, reservation.left_usd) == (True, Decimal("4.997"))


async def test_success_turns_the_reservation_into_what_was_spent(database: Database) -> None:
    scenario = await begin(database, STORIES)
    attempt = await _reserve_for_new_job(scenario)
    await scenario.settle([attempt], Done(cost_usd=Decimal("0.002")))
    day = await _today(database)
    assert (day["reserved_usd"], day["spent_usd"]) == (0, Decimal("0.002"))


async def test_failure_keeps_what_it_cost_and_gives_the_rest_back(database: Database) -> None:
    scenario = await begin(database, STORIES)
    attempt = await _reserve_for_new_job(scenario)
    await scenario.fail([attempt], NetworkTimeout("reset", cost_usd=Decimal("0.001")))
    day = await _today(database)
    assert (day["reserved_usd"], day["spent_usd"]) == (0, Decimal("0.001"))


async def test_given_back_attempt_spends_nothing(database: Database) -> None:
    scenario = await begin(database, STORIES)
    attempt = await _reserve_for_new_job(scenario)
    await scenario.queue.give_back([(attempt, GiveBack("shutting down"))])
    day = await _today(database)
    assert (day["reserved_usd"], day["spent_usd"]) == (0, 0)


async def test_reservation_of_a_lost_worker_counts_as_spent(database: Database, clock: Clock) -> None:
    scenario = await begin(database, STORIES)
    await _reserve_for_new_job(scenario)
    await clock.advance(seconds=LEASE_SECONDS + 1)
    await scenario.queue.sweep(LEASE_SECONDS)
    day = await _today(database)
    assert (day["reserved_usd"], day["spent_usd"]) == (0, Decimal(ESTIMATE))


async def test_what_was_billed_beyond_the_limit_is_kept_as_overrun(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await _set_limit(database, "0.005")
    attempt = await _reserve_for_new_job(scenario)
    await scenario.settle([attempt], Done(cost_usd=Decimal("0.009")))
    day = await _today(database)
    assert (day["reserved_usd"], day["spent_usd"], day["overrun_usd"]) == (0, Decimal("0.005"), Decimal("0.004"))


async def test_refused_document_goes_on_when_a_reservation_settles_for_less(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await _set_limit(database, "0.005")
    first = await _reserve_for_new_job(scenario)
    refused = await _be_refused(scenario)
    assert await scenario.claim("enrich") == []
    await scenario.settle([first], Done(cost_usd=Decimal("0.001")))
    again = await scenario.claim_one("enrich")
    assert again.job_id == refused.job_id
    assert await scenario.reserve(again, ESTIMATE)


async def test_refused_document_goes_on_when_the_money_came_back_before_its_refusal_was_recorded(
    database: Database,
) -> None:
    scenario = await begin(database, STORIES)
    await _set_limit(database, "0.005")
    first = await _reserve_for_new_job(scenario)
    await scenario.submit()
    second = await scenario.claim_one("enrich")
    assert not await scenario.reserve(second, ESTIMATE)
    await scenario.settle([first], Done(cost_usd=Decimal("0.001")))
    await scenario.fail([second], _refusal())
    assert (await scenario.claim_one("enrich")).job_id == second.job_id


async def test_refused_document_goes_on_when_money_comes_back_while_its_refusal_is_recorded(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await _set_limit(database, "0.005")
    first = await _reserve_for_new_job(scenario)
    await scenario.submit()
    second = await scenario.claim_one("enrich")
    assert not await scenario.reserve(second, ESTIMATE)
    async with database.transaction() as connection:
        await scenario.queue.settle([(first, Done(cost_usd=Decimal("0.001")))], connection)
        recording = asyncio.ensure_future(scenario.fail([second], _refusal()))
        await until_someone_waits_for_a_lock(database)
    await recording
    assert (await scenario.claim_one("enrich")).job_id == second.job_id


async def test_refused_document_goes_on_the_next_day(database: Database, clock: Clock) -> None:
    scenario = await begin(database, STORIES)
    await _set_limit(database, "0.005")
    await scenario.settle([await _reserve_for_new_job(scenario)], Done(cost_usd=Decimal("0.005")))
    refused = await _be_refused(scenario)
    assert await scenario.claim("enrich") == []
    await clock.advance(days=1)
    again = await scenario.claim_one("enrich")
    assert again.job_id == refused.job_id
    assert await scenario.reserve(again, ESTIMATE)


async def test_refused_document_goes_on_when_the_limit_is_raised(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await _set_limit(database, "0.001")
    refused = await _be_refused(scenario)
    await _set_limit(database, "1")
    again = await scenario.claim_one("enrich")
    assert again.job_id == refused.job_id
    assert await scenario.reserve(again, ESTIMATE)


async def test_refusal_recorded_after_midnight_does_not_hold_the_new_day(database: Database, clock: Clock) -> None:
    scenario = await begin(database, STORIES)
    refused = await _be_refused_before_midnight_and_recorded_after(scenario, clock, _refusal())
    again = await scenario.claim_one("enrich")
    assert again.job_id == refused.job_id
    assert await scenario.reserve(again, ESTIMATE)


async def test_refusal_recorded_after_midnight_does_not_hold_those_the_new_day_has_money_for(
    database: Database, clock: Clock
) -> None:
    """What was refused needed more than the new day has left by now; the others need less."""
    scenario = await begin(database, STORIES)
    await scenario.submit()
    phase = replace(STORIES.phases[0], estimate_usd=Decimal("0.004"))
    await _spend_the_day(scenario)
    await clock.advance(hours=11, minutes=59)
    ending = await perform(refused := await scenario.claim_one("enrich"), phase, scenario.queue)
    assert isinstance(ending, Failure)
    await clock.advance(minutes=2)
    await scenario.settle([await _reserve_for_new_job(scenario)], Done(cost_usd=Decimal("0.003")))
    await scenario.queue.fail([(refused, ending)])
    await scenario.submit()
    assert len(await scenario.claim("enrich", 2)) == 2


@pytest.mark.parametrize(
    "moment",
    [
        "the 9th of never",
        "2026-99-99T00:00:00+00:00",
        "2020-01-01T00:00:00+00:00",
        "2020-01-01",
        "12:00:00",
        7,
        None,
        ["now"],
    ],
)
async def test_refusal_with_a_senseless_moment_is_recorded_and_holds_the_day(database: Database, moment: Any) -> None:
    scenario = await begin(database, STORIES)
    await _spend_the_day(scenario)
    await scenario.submit()
    attempt = await scenario.claim_one("enrich")
    details = {"needs_usd": float(ESTIMATE), "resets_at": moment}
    await scenario.fail([attempt], BudgetExceeded("spent", details=details))
    assert await scenario.claim("enrich") == []
    assert (await scenario.job(attempt.job_id))["state"] == "held"


async def test_a_lowered_limit_counts_as_soon_as_reservations_come_back(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await _set_limit(database, "1")
    await scenario.submit(2)
    first, second = await scenario.claim("enrich", 2)
    assert await scenario.reserve(first, "0.9")
    await _set_limit(database, "0.1")
    await scenario.settle([first], Done(cost_usd=Decimal("0.05")))
    assert not await scenario.reserve(second, "0.06")
    assert await scenario.reserve(second, "0.05")
    (budget,) = await Overview(database).budgets()
    assert (budget["limit_usd"], budget["left_usd"]) == (Decimal("0.1"), 0)


async def test_a_lowered_limit_ends_no_hold_for_money_it_no_longer_allows(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await _set_limit(database, "1")
    await scenario.submit()
    first = await scenario.claim_one("enrich")
    assert await scenario.reserve(first, "0.9")
    await scenario.submit()
    refused = await scenario.claim_one("enrich")
    assert not await scenario.reserve(refused, "0.3")
    await scenario.fail([refused], BudgetExceeded("spent", details={"needs_usd": 0.3}))
    await _set_limit(database, "0.2")
    await scenario.settle([first], Done(cost_usd=Decimal(0)))
    assert await scenario.claim("enrich") == []


@pytest.mark.parametrize("time_zone", ["Pacific/Auckland", "Pacific/Honolulu"])
async def test_another_time_zone_opens_no_second_day(database: Database, clock: Clock, time_zone: str) -> None:
    """Noon in UTC is tomorrow in Auckland; an hour after midnight is yesterday in Honolulu."""
    scenario = await begin(database, STORIES)
    await scenario.submit()
    await clock.advance(hours=13 if time_zone.endswith("Honolulu") else 0)
    await _spend_the_day(scenario)
    await _set_zone(database, time_zone)
    await _set_zone(database, "UTC")
    await _set_zone(database, time_zone)
    assert not await scenario.reserve(await scenario.claim_one("enrich"), ESTIMATE)
    (budget,) = await Overview(database).budgets()
    assert budget["left_usd"] == 0


async def test_days_follow_the_new_time_zone_when_the_day_that_was_open_is_over(
    database: Database, clock: Clock
) -> None:
    """At midnight in UTC it is one o'clock in the afternoon in Auckland: a new day, which ends ten hours later."""
    scenario = await begin(database, STORIES)
    await scenario.submit()
    await _spend_the_day(scenario)
    await _set_zone(database, "Pacific/Auckland")
    await clock.advance(hours=12, minutes=1)
    reservation = await scenario.queue.reserve_budget(await scenario.claim_one("enrich"), Decimal(ESTIMATE))
    now = await database.fetchval("select holdfast.clock()")
    assert reservation.granted
    assert reservation.resets_at - now < timedelta(hours=13)


async def test_a_time_zone_set_before_anything_is_spent_counts_at_once(database: Database) -> None:
    await begin(database, STORIES)
    await _set_zone(database, "Pacific/Auckland")
    (budget,) = await Overview(database).budgets()
    assert budget["day"] == await database.fetchval("select (holdfast.clock() at time zone 'Pacific/Auckland')::date")


async def test_a_limit_lowered_below_what_is_spent_refuses_and_breaks_nothing(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await _reserve_for_new_job(scenario)
    await _set_limit(database, "0")
    day = await _today(database)
    assert (day["limit_usd"], day["reserved_usd"]) == (Decimal(ESTIMATE), Decimal(ESTIMATE))
    await scenario.submit()
    assert not await scenario.reserve(await scenario.claim_one("enrich"), ESTIMATE)


async def test_yesterdays_money_does_not_end_todays_hold(database: Database, clock: Clock) -> None:
    scenario = await begin(database, STORIES)
    await _set_limit(database, "0.005")
    yesterday = await _reserve_for_new_job(scenario)
    await clock.advance(days=1)
    await scenario.settle([await _reserve_for_new_job(scenario)], Done(cost_usd=Decimal("0.005")))
    await _be_refused(scenario)
    await scenario.settle([yesterday], Done(cost_usd=Decimal("0.001")))
    assert await scenario.claim("enrich") == []


async def test_an_organisation_with_its_own_budget_goes_on_when_the_shared_one_is_spent(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await _set_limit(database, "0.001")
    await database.execute("select holdfast.set_budget('stories', 1, 'rich')")
    await _be_refused(scenario)
    await scenario.submit(5)
    await scenario.submit(organisation="rich")
    attempts = await scenario.claim("enrich", 10)
    assert [attempt.document.organisation for attempt in attempts] == ["rich"]
    assert await scenario.reserve(attempts[0], ESTIMATE)


async def test_one_organisations_spent_budget_does_not_hold_the_others(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await database.execute("select holdfast.set_budget('stories', 0, 'poor')")
    await _be_refused(scenario, organisation="poor")
    await scenario.submit(5, organisation="poor")
    await scenario.submit()
    attempts = await scenario.claim("enrich", 10)
    assert [attempt.document.organisation for attempt in attempts] == ["acme"]


async def test_stale_handle_reserves_nothing(database: Database) -> None:
    scenario = await begin(database, STORIES)
    await scenario.submit()
    attempt = await scenario.claim_one("enrich")
    await scenario.queue.give_back([(attempt, GiveBack("shutting down"))])
    with pytest.raises(Conflict, match="claim on job"):
        await scenario.reserve(attempt, ESTIMATE)


async def test_phase_without_a_budget_has_nothing_to_reserve_from(database: Database) -> None:
    scenario = await begin(database, plain("extract"))
    await scenario.submit()
    attempt = await scenario.claim_one("extract")
    with pytest.raises(InvalidInput, match="names no budget"):
        await scenario.reserve(attempt, ESTIMATE)


@pytest.mark.parametrize("amount", ["-0.001", "NaN", "Infinity"])
async def test_senseless_reservation_is_refused(database: Database, amount: str) -> None:
    scenario = await begin(database, STORIES)
    await scenario.submit()
    attempt = await scenario.claim_one("enrich")
    with pytest.raises(InvalidInput, match="makes no sense"):
        await scenario.reserve(attempt, amount)


async def _reserve_for_new_job(scenario: Scenario) -> Attempt:
    await scenario.submit()
    attempt = await scenario.claim_one("enrich")
    assert await scenario.reserve(attempt, ESTIMATE)
    return attempt


async def _be_refused(scenario: Scenario, *, organisation: str = "acme") -> Attempt:
    await scenario.submit(organisation=organisation)
    attempt = await scenario.claim_one("enrich")
    assert not await scenario.reserve(attempt, ESTIMATE)
    await scenario.fail([attempt], _refusal())
    return attempt


def _refusal() -> BudgetExceeded:
    return BudgetExceeded("the budget is spent", details={"needs_usd": float(ESTIMATE)})


async def _spend_the_day(scenario: Scenario) -> None:
    await _set_limit(scenario.database, "0.005")
    await scenario.submit(priority=1)
    attempt = await scenario.claim_one("enrich")
    assert await scenario.reserve(attempt, "0.005")
    await scenario.settle([attempt], Done(cost_usd=Decimal("0.005")))


async def _be_refused_before_midnight_and_recorded_after(
    scenario: Scenario, clock: Clock, refusal: BudgetExceeded
) -> Attempt:
    await _spend_the_day(scenario)
    await clock.advance(hours=11, minutes=59)
    await scenario.submit()
    attempt = await scenario.claim_one("enrich")
    assert not await scenario.reserve(attempt, ESTIMATE)
    await clock.advance(minutes=2)
    await scenario.fail([attempt], refusal)
    return attempt


async def _set_zone(database: Database, time_zone: str) -> None:
    await database.execute("select holdfast.set_budget('stories', 0.005, p_time_zone => $1)", time_zone)


async def _reserve_both(scenario: Scenario, pair: tuple[Attempt, Attempt]) -> list[bool]:
    return [await scenario.reserve(attempt, ESTIMATE) for attempt in pair]


async def _reserve_and_settle(scenario: Scenario, attempt: Attempt, n: int) -> None:
    if await scenario.reserve(attempt, ESTIMATE):
        await scenario.settle([attempt], Done(cost_usd=Decimal(n % 6) / 1000))
    else:
        await scenario.fail([attempt], _refusal())


async def _set_limit(database: Database, limit_usd: str) -> None:
    await database.execute("select holdfast.set_budget('stories', $1)", Decimal(limit_usd))


async def _today(database: Database) -> asyncpg.Record:
    day = await database.fetchrow("select * from holdfast.budget_day order by day desc limit 1")
    assert day is not None
    return day
