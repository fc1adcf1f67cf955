"""Where a job stands in its queue, and how the database itself is doing."""

import pytest

from holdfast.db.connection import Database, connect
from holdfast.engine.overview import Overview
from holdfast.errors import NotFound
from holdfast.settings import Settings
from tests.engine.observed_pipeline import DAMAGED, WATCHED
from tests.engine.scenario import Scenario, begin, many_connections


@pytest.fixture
async def watched(database: Database) -> Scenario:
    """The pipeline registered, with one worker."""
    return await begin(database, WATCHED)


@pytest.fixture
def overview(database: Database) -> Overview:
    """What is under test."""
    return Overview(database)


async def test_position_is_the_order_of_claims(overview: Overview, watched: Scenario, database: Database) -> None:
    jobs = [one.job_id for one in await watched.submit(3)]
    jobs += [one.job_id for one in await watched.submit(2, organisation="bolt")]
    jobs += [one.job_id for one in await watched.submit(2, priority=5)]
    await database.execute("update holdfast.pipeline_job set crash_count = 2 where id = any ($1)", jobs[:2])
    foreseen = {await overview.position(job): job for job in jobs}
    claimed = [(await watched.settle_once("extract")).job_id for _ in jobs]
    assert sorted(foreseen) == list(range(7))
    assert claimed == [foreseen[place] for place in range(7)]


async def test_only_a_queued_job_has_a_position(overview: Overview, watched: Scenario) -> None:
    await watched.submit(2)
    failed = await watched.fail_once("extract", DAMAGED)
    working = await watched.claim_one("extract")
    assert await overview.position(failed.job_id) is None
    assert await overview.position(working.job_id) is None
    with pytest.raises(NotFound):
        await overview.position(4711)


async def test_positions_beyond_ten_thousand_are_not_counted(overview: Overview, watched: Scenario) -> None:
    *_, last = await watched.submit(10_050)
    assert await overview.position(last.job_id) == 10_001


async def test_job_and_document_tell_the_position(overview: Overview, watched: Scenario) -> None:
    _, second = await watched.submit(2)
    assert (await overview.job(second.job_id))["queue_position"] == 1
    assert (await overview.pipeline_of(second.document_id))["jobs"][0]["queue_position"] == 1
    await watched.claim("extract", 2)
    assert (await overview.job(second.job_id))["queue_position"] is None


async def test_tenant_learns_its_true_position_but_no_other_jobs(watched: Scenario, database: Database) -> None:
    theirs, own = [(await watched.submit_one(organisation=name)).job_id for name in ("bolt", "acme")]
    confined = Overview(database.confined_to("acme"))
    assert await confined.position(own) == 1
    with pytest.raises(NotFound):
        await confined.position(theirs)


async def test_database_tells_of_a_transaction_left_open(overview: Overview, dsn: str) -> None:
    async with many_connections(dsn, 2) as other, other.transaction() as connection:
        await connection.execute("select pg_sleep(0.05)")
        told = await overview.database()
    assert told["oldest_transaction_seconds"] > 0.05
    assert told["hidden_sessions"] == 0
    assert 2 <= told["connections_used"] <= told["connections_max"]
    assert told["database_bytes"] > 1_000_000
    assert told["oldest_xid_age"] > 0


async def test_database_counts_live_and_dead_rows(overview: Overview, watched: Scenario, database: Database) -> None:
    await watched.submit(3)
    # What the session has not told yet of the rows it wrote would be added to those that are found now.
    await database.execute("select pg_stat_force_next_flush()")
    await database.execute("analyze holdfast.document, holdfast.pipeline_job")
    told = await overview.database()
    assert [table["name"] for table in told["tables"]] == ["document", "pipeline_job", "pipeline_phase"]
    assert [table["live_rows"] for table in told["tables"]][:2] == [3, 3]
    assert told["live_rows"] >= 6
    assert {"dead_rows", "autovacuumed_at"} <= set(told["tables"][0])


async def test_database_says_null_rather_than_guess(dsn: str, guest: str, database: Database) -> None:
    await database.execute(f'grant holdfast_api to "{guest}"')
    joined = "&" if "?" in dsn else "?"
    async with connect(Settings(database_url=f"{dsn}{joined}options=-c%20role%3D{guest}")) as visitor:
        told = await Overview(visitor).database()
    await database.execute(f'revoke holdfast_api from "{guest}"')
    assert told["oldest_transaction_seconds"] is None
    assert told["hidden_sessions"] >= 1
    assert told["connections_used"] >= 2
