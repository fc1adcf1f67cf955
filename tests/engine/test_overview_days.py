"""Money by day, money saved, and the flow of the last minutes."""

from datetime import timedelta
from decimal import Decimal

import pytest

from holdfast.db.connection import Database
from holdfast.engine.overview import Overview
from holdfast.engine.pipeline import Done
from holdfast.errors import InvalidInput
from tests.conftest import Clock
from tests.engine.observed_pipeline import DAMAGED, GARBLED, WATCHED, finish
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


async def test_costs_of_a_day_name_payer_provider_and_waste(
    overview: Overview, watched: Scenario, database: Database
) -> None:
    await watched.submit(2)
    await watched.settle(await watched.claim("extract", 2))
    await watched.fail_once("enrich", GARBLED)
    await watched.settle_once("enrich", Done(cost_usd=Decimal("0.003")))
    (row,) = await overview.costs_by_day()
    assert row["day"] == await database.fetchval("select (holdfast.clock() at time zone 'UTC')::date")
    assert (row["organisation"], row["phase"], row["provider"]) == ("acme", "enrich", "model")
    assert (row["attempts"], row["cost_usd"], row["wasted_usd"]) == (2, Decimal("0.005"), Decimal("0.002"))


async def test_days_are_kept_apart_and_older_ones_left_out(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit(2)
    await finish(watched)
    await clock.advance(days=3)
    await finish(watched)
    newest, oldest = await overview.costs_by_day(days=4)
    assert newest["day"] - oldest["day"] == timedelta(days=3)
    assert [row["day"] for row in await overview.costs_by_day(days=3)] == [newest["day"]]


async def test_each_resumed_attempt_saves_the_phases_before_it(
    overview: Overview, watched: Scenario, clock: Clock
) -> None:
    await watched.submit()
    await watched.settle_once("extract", Done(cost_usd=Decimal("0.10")))
    await watched.settle_once("enrich", Done(cost_usd=Decimal("0.30")))
    for _ in range(2):
        await watched.fail_once("embed", type(GARBLED)("no JSON", cost_usd=Decimal("0.07")))
        await clock.advance(days=1)
    await watched.settle_once("embed", Done(cost_usd=Decimal("0.07")))
    rows = await overview.saved()
    assert [(row["resumed"], row["saved_usd"]) for row in rows] == [(1, Decimal("0.40")), (1, Decimal("0.40"))]


async def test_first_attempts_save_nothing(overview: Overview, watched: Scenario) -> None:
    await watched.submit()
    await finish(watched)
    assert await overview.saved() == []


async def test_phase_that_runs_again_is_not_saved(overview: Overview, watched: Scenario, database: Database) -> None:
    job = await watched.submit_one()
    await watched.settle_once("extract", Done(cost_usd=Decimal("0.10")))
    await watched.settle_once("enrich", Done(cost_usd=Decimal("0.30")))
    await watched.fail_once("embed", DAMAGED)
    await database.execute("select holdfast.retry(array[$1]::bigint[], 'enrich')", job.job_id)
    await watched.fail_once("enrich", DAMAGED)
    await database.execute("select holdfast.retry(array[$1]::bigint[])", job.job_id)
    await watched.settle_once("enrich", Done(cost_usd=Decimal("0.30")))
    (row,) = await overview.saved()
    assert (row["resumed"], row["saved_usd"]) == (1, Decimal("0.10"))


async def test_flow_counts_endings_in_stretches(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit(4)
    await watched.settle(await watched.claim("extract", 2))
    await clock.advance(seconds=60)
    await watched.settle_once("extract")
    await watched.fail_once("extract", DAMAGED)
    early, late = await overview.flow(bucket_seconds=30)
    assert (early["pipeline"], early["phase"], early["completed"], early["failed"]) == ("documents", "extract", 2, 0)
    assert (late["completed"], late["failed"]) == (1, 1)
    assert late["bucket_at"] - early["bucket_at"] in (timedelta(seconds=60), timedelta(seconds=90))
    assert early["bucket_at"].timestamp() % 30 == 0


async def test_flow_forgets_what_is_older(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit()
    await watched.settle_once("extract")
    await clock.advance(seconds=100)
    assert await overview.flow(seconds=60) == []


@pytest.mark.parametrize(("seconds", "bucket"), [(0, 1), (86_401, 30), (900, 0), (900, 901), (-5, 1)])
async def test_senseless_stretches_are_refused(overview: Overview, seconds: int, bucket: int) -> None:
    with pytest.raises(InvalidInput, match="make no sense"):
        await overview.flow(seconds, bucket)
