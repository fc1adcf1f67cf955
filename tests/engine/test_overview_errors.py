"""The questions about errors and money: who fails, why, how often, and what budgets refused."""

from decimal import Decimal

import pytest

from holdfast.db.connection import Database
from holdfast.engine.overview import Overview
from holdfast.errors import AuthenticationFailed
from tests.conftest import Clock
from tests.engine.observed_pipeline import DAMAGED, RESET, WATCHED
from tests.engine.scenario import Scenario, begin

pytestmark = pytest.mark.usefixtures("noon")


@pytest.fixture
async def watched(database: Database) -> Scenario:
    """The pipeline registered, with one worker."""
    return await begin(database, WATCHED)


@pytest.fixture
def overview(database: Database) -> Overview:
    """What is under test."""
    return Overview(database)


async def test_top_failing_counts_only_what_was_charged(overview: Overview, watched: Scenario, clock: Clock) -> None:
    often = await watched.submit_one(source_name="bad.pdf")
    await watched.fail_once("extract", RESET)
    await clock.advance(seconds=61)
    await watched.fail_once("extract", RESET)
    await watched.submit()
    await watched.fail_once("extract", AuthenticationFailed("the key was revoked"))
    (row,) = await overview.top_failing()
    assert (row["document_id"], row["source_name"], row["errors"]) == (often.document_id, "bad.pdf", 2)
    assert (row["category"], row["error"]) == ("network_timeout", "connection reset by peer")


@pytest.mark.parametrize(
    ("group", "key"),
    [
        ("category", "network_timeout"),
        ("component", "parse"),
        ("platform", "s3"),
        ("organisation", "acme"),
    ],
)
async def test_errors_are_grouped(overview: Overview, watched: Scenario, group: str, key: str) -> None:
    await watched.submit(2, source_platform="s3")
    await watched.fail(await watched.claim("extract", 2), RESET)
    (row,) = await overview.errors_by(group)
    assert (row["key"], row["errors"], row["documents"]) == (key, 2, 2)
    assert row["example"] == "connection reset by peer"


async def test_one_cause_is_one_fingerprint(overview: Overview, watched: Scenario) -> None:
    await watched.submit(3)
    for number in (17, 4711):
        await watched.fail_once("extract", type(RESET)(f"no answer after {number} ms"))
    await watched.fail_once("extract", DAMAGED)
    largest, other = await overview.errors_by("fingerprint")
    assert (largest["errors"], other["errors"]) == (2, 1)


async def test_repeat_offenders_fail_with_one_cause(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit()
    for wait in (61, 301, 0):
        await watched.fail_once("extract", RESET)
        await clock.advance(seconds=wait)
    (row,) = await overview.repeat_offenders(3)
    assert (row["times"], row["category"], row["error"]) == (3, "network_timeout", "connection reset by peer")
    assert await overview.repeat_offenders(4) == []


async def test_budgets_show_what_is_left_and_what_was_refused(
    overview: Overview, watched: Scenario, database: Database
) -> None:
    await database.execute("select holdfast.set_budget('stories', 1)")
    await watched.submit(2)
    await watched.settle(await watched.claim("extract", 2))
    first, second = await watched.claim("enrich", 2)
    assert await watched.reserve(first, "0.75")
    assert not await watched.reserve(second, "0.50")
    (budget,) = await overview.budgets()
    assert (budget["name"], budget["limit_usd"], budget["reserved_usd"]) == ("stories", 1, Decimal("0.75"))
    assert (budget["left_usd"], budget["refusals"]) == (Decimal("0.25"), 1)
    (refused,) = await overview.budget_refusals()
    assert (refused["name"], refused["day"], refused["refusals"]) == ("stories", budget["day"], 1)


async def test_budget_nobody_used_today_is_all_left(overview: Overview, watched: Scenario) -> None:
    (budget,) = await overview.budgets()
    assert (budget["limit_usd"], budget["left_usd"], budget["refusals"]) == (5, 5, 0)
