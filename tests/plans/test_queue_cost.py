"""What a claim and a sweep read and write follows what they do, not how many holds or finished jobs there are."""

import json

import asyncpg
import pytest

from holdfast.db.connection import Database
from holdfast.engine.queue import Queue
from tests.engine.scenario import WORKER, Scenario, begin, plain
from tests.plans.cost import rows_read

HOLDS = 2_000
LANES = json.dumps([{"pipeline": "documents", "phase": phase, "limit": 5} for phase in ("extract", "embed")])
CLAIM = f"select * from holdfast.claim('{WORKER}', '{LANES}')"
# A row lock writes some 50 bytes: this is less than a tenth of the holds.
WAL_ALLOWED = 10_000
READS_ALLOWED = 100


@pytest.fixture
async def held(database: Database) -> Scenario:
    """Two phases, and as many organisations held as a large installation may have."""
    scenario = await begin(database, plain("extract", "embed"))
    await database.execute(
        """
        select holdfast.hold(jsonb_build_object('organisation', 'late payer ' || n))
        from generate_series(1, $1::integer) n
        """,
        HOLDS,
    )
    await scenario.claim("extract")
    return scenario


async def test_idle_claim_writes_nothing_for_the_holds_in_force(held: Scenario, dsn: str) -> None:
    assert await _written(dsn, CLAIM) < WAL_ALLOWED


async def test_claim_writes_for_the_jobs_it_takes_and_not_for_the_holds_in_force(held: Scenario, dsn: str) -> None:
    await held.submit(5)
    assert await _written(dsn, CLAIM) < WAL_ALLOWED


async def test_claim_reads_few_of_the_holds_in_force(held: Scenario, dsn: str) -> None:
    await held.submit(5)
    assert await _read(dsn, CLAIM) < READS_ALLOWED


async def test_claim_finds_the_hold_of_an_organisation_among_many(held: Scenario) -> None:
    await held.submit(10, organisation="late payer 7")
    await held.submit(1, organisation="prompt payer")
    taken = await held.claim("extract", 5)
    assert [attempt.document.organisation for attempt in taken] == ["prompt payer"]
    assert await held.states() == {"held": 10, "working": 1}


async def test_sweep_reads_no_job_of_other_phases_for_a_retired_one(database: Database, dsn: str) -> None:
    scenario = await begin(database, plain("extract", "embed"))
    await scenario.submit(1_000)
    await scenario.settle(await scenario.claim("extract", 300))
    await scenario.settle(await scenario.claim("embed", 300))
    await Queue(database).register([plain("extract", version=2)])
    await database.execute("vacuum (analyze) holdfast.pipeline_job")
    assert await _read(dsn, "select holdfast.reroute()") < READS_ALLOWED


@pytest.mark.parametrize("rows", [1_000, 100_000, 10_000_000, 1_000_000_000])
@pytest.mark.parametrize("table", ["pipeline_job", "document", "budget_entry"])
async def test_queue_tables_are_vacuumed_before_a_hundredth_of_a_large_one_is_dead(
    database: Database, table: str, rows: int
) -> None:
    """And a small one not for every few rows."""
    options = await _options(database, table)
    dead = options["autovacuum_vacuum_threshold"] + options["autovacuum_vacuum_scale_factor"] * rows
    assert 1_000 <= dead <= max(2_500, rows / 100)


async def _written(dsn: str, statement: str) -> int:
    """Bytes of write-ahead log, of this statement alone; rolled back."""
    connection = await asyncpg.connect(dsn)
    try:
        # What happens in a session for the first time is not what is measured.
        for _ in range(2):
            transaction = connection.transaction()
            await transaction.start()
            text = await connection.fetchval(f"explain (analyze, wal, format json) {statement}")
            await transaction.rollback()
        (plan,) = json.loads(text)
        return int(plan["Plan"]["WAL Bytes"])
    finally:
        await connection.close()


async def _read(dsn: str, statement: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        return await rows_read(connection, statement)
    finally:
        await connection.close()


async def _options(database: Database, table: str) -> dict[str, float]:
    rows = await database.fetch(
        """
        select name, setting::float8 from pg_settings where name like 'autovacuum_vacuum_%'
        and name in ('autovacuum_vacuum_threshold', 'autovacuum_vacuum_scale_factor')
        union all
        select option_name, option_value::float8
        from pg_class c, pg_options_to_table(c.reloptions)
        where c.oid = ('holdfast.' || $1)::regclass and option_name like 'autovacuum%'
        """,
        table,
    )
    return {row["name"]: row["setting"] for row in rows}
