"""PostgreSQL goes away and comes back while thousands of jobs are under way."""

import asyncio
from pathlib import Path

from holdfast.db.connection import connect
from holdfast.db.migrations import migrate
from holdfast.errors import DatabaseUnavailable
from tests.conftest import FUNCTIONS, OwnServer
from tests.walks.conftest import Walks

JOBS = 5000
RESTARTS = 6
PACE = {"heartbeat_seconds": 0.5, "lease_seconds": 5.0, "sweep_seconds": 0.5}


async def test_restarts_of_the_database_lose_nothing_and_end_no_worker(own_server: OwnServer, tmp_path: Path) -> None:
    async with connect(own_server.settings) as database:
        await migrate(database, functions=FUNCTIONS)
        walks = Walks(database, own_server.server.dsn, tmp_path / "calls.log")
        await walks.prepare()
        await walks.submit(JOBS)
        workers = [await walks.start(**PACE) for _ in range(2)]
        try:
            for n in range(RESTARTS):
                await asyncio.sleep(1.5)
                mode = "immediate" if n % 2 else "fast"
                await asyncio.to_thread(own_server.server.restart, mode)

            async def complete() -> bool:
                return await _count(walks, "state = 'done'") == JOBS

            await walks.until(complete, 120)
            assert all(worker.running for worker in workers)
        finally:
            await walks.end()
        await _assert_each_phase_was_completed_once(walks)


async def _assert_each_phase_was_completed_once(walks: Walks) -> None:
    attempts = await walks.database.fetch(
        "select phase, count(*), count(distinct job_id) as jobs from holdfast.pipeline_phase"
        " where outcome = 'completed' group by phase order by phase"
    )
    assert [tuple(row) for row in attempts] == [(phase, JOBS, JOBS) for phase in ("first", "second", "third")]
    writes = await walks.database.fetchval("select count(*) from (select distinct job_id, phase from walk_result) w")
    assert writes == JOBS * 3
    assert await walks.database.fetchval("select count(*) from walk_result") == JOBS * 3
    assert await _count(walks, "retry_count > 0 or last_error is not null") == 0


async def _count(walks: Walks, condition: str) -> int:
    try:
        return int(await walks.database.fetchval(f"select count(*) from holdfast.pipeline_job where {condition}"))
    except DatabaseUnavailable:
        return -1
