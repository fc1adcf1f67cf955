"""Failures by cause: how many errors, how many jobs stand still for it, and whom it concerns."""

import pytest

from holdfast.db.connection import Database
from holdfast.engine.overview import Overview
from holdfast.errors import NetworkTimeout, PhaseError
from tests.conftest import Clock
from tests.engine.observed_pipeline import DAMAGED, RESET, WATCHED
from tests.engine.scenario import Scenario, begin


@pytest.fixture
async def watched(database: Database) -> Scenario:
    """The pipeline registered, with one worker."""
    return await begin(database, WATCHED)


@pytest.fixture
def overview(database: Database) -> Overview:
    """What is under test."""
    return Overview(database)


def raised(error: PhaseError) -> PhaseError:
    """The error with the traceback that being raised gives it."""
    try:
        raise error
    except PhaseError as caught:
        return caught


async def test_one_cause_is_one_group(overview: Overview, watched: Scenario) -> None:
    await watched.submit(2, source_platform="s3")
    await watched.submit(organisation="bolt")
    for number in (17, 4711, 3):
        last = await watched.fail_once("extract", NetworkTimeout(f"no answer after {number} ms"))
    (group,) = await overview.failure_groups()
    assert (group["errors"], group["documents"], group["open_jobs"]) == (3, 3, 3)
    assert (group["category"], group["component"]) == ("network_timeout", "parse")
    assert (group["platforms"], group["organisations"]) == (["s3", "upload"], ["acme", "bolt"])
    assert (group["pipelines"], group["phases"]) == (["documents"], ["extract"])
    assert (group["example"], group["example_job_id"]) == ("no answer after 3 ms", last.job_id)
    assert group["first_at"] < group["last_at"]


async def test_job_that_went_on_is_no_longer_open(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit(2)
    await watched.fail(await watched.claim("extract", 2), RESET)
    await clock.advance(seconds=61)
    await watched.settle_once("extract")
    (group,) = await overview.failure_groups()
    # The other one was put back into the queue by the same claim.
    assert (group["errors"], group["open_jobs"]) == (2, 0)


async def test_job_is_open_for_its_last_cause_only(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit()
    await watched.fail_once("extract", RESET)
    await clock.advance(seconds=61)
    await watched.fail_once("extract", DAMAGED)
    opened = {group["category"]: group["open_jobs"] for group in await overview.failure_groups()}
    assert opened == {"network_timeout": 0, "corrupt_input": 1}


async def test_largest_groups_come_first_and_the_limit_holds(overview: Overview, watched: Scenario) -> None:
    await watched.submit(3)
    await watched.fail_once("extract", DAMAGED)
    await watched.fail(await watched.claim("extract", 2), RESET)
    assert [group["errors"] for group in await overview.failure_groups()] == [2, 1]
    assert [group["errors"] for group in await overview.failure_groups(limit=1)] == [2]


async def test_window_leaves_out_older_errors(overview: Overview, watched: Scenario, clock: Clock) -> None:
    await watched.submit()
    await watched.fail_once("extract", DAMAGED)
    await clock.advance(days=2)
    assert await overview.failure_groups(days=1) == []
    assert len(await overview.failure_groups(days=3)) == 1


async def test_traceback_is_told_to_operators_only(overview: Overview, watched: Scenario, database: Database) -> None:
    await watched.submit()
    await watched.fail_once("extract", raised(DAMAGED))
    (group,) = await overview.failure_groups()
    assert "in raised" in group["traceback"]
    (confined,) = await Overview(database.confined_to("acme")).failure_groups()
    assert (confined["open_jobs"], confined["traceback"]) == (1, None)


async def test_group_of_a_tenant_counts_its_own(watched: Scenario, database: Database) -> None:
    await watched.submit()
    await watched.submit(2, organisation="bolt")
    await watched.fail(await watched.claim("extract", 3), RESET)
    (group,) = await Overview(database.confined_to("acme")).failure_groups()
    assert (group["errors"], group["open_jobs"], group["organisations"]) == (1, 1, ["acme"])
    assert await Overview(database.confined_to("nobody")).failure_groups() == []
