"""How soon work goes on: results recorded after an outage, and a killed worker's jobs elsewhere."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg

from bench.figure import Figure
from bench.place import Place, connected
from tests.weather.fleet import LEASE_SECONDS, Fleet, opened

WORKERS = 2
RECORDED_SECONDS = 60.0
GOES_ON_SECONDS = 15.0
# Where it takes so long, something else is wrong.
GIVE_UP_SECONDS = 180.0
LOOK_SECONDS = 0.02

RECORDED = "select count(distinct job_id) from holdfast.pipeline_phase where phase = 'ask' and outcome = 'completed'"


async def measure(place: Place) -> list[Figure]:
    """At the pace that operators get by default, but for the smoke test."""
    recorded, calls = await _outage(place)
    jobs = WORKERS * place.scale.outage_jobs
    return [
        Figure(
            name=f"{jobs} results recorded after {place.scale.outage_seconds:g} s without a database",
            measured=recorded,
            against=RECORDED_SECONDS,
            unit="s",
            baseline="goal",
            demand="at most",
        ),
        Figure(
            name="paid calls for them",
            measured=calls,
            against=jobs,
            unit="calls",
            baseline="results",
            demand="at most",
        ),
        Figure(
            name="jobs of a killed worker go on elsewhere",
            measured=await _kill(place),
            against=GOES_ON_SECONDS,
            unit="s",
            baseline="goal",
            demand="at most",
        ),
    ]


async def _outage(place: Place) -> tuple[float, int]:
    """Seconds from the database's return until every result that came meanwhile is on record, and how many calls."""
    jobs = WORKERS * place.scale.outage_jobs
    async with place.database("outage") as dsn, _fleet(place, dsn, WORKERS) as fleet, connected(dsn) as connection:
        await fleet.submit("weather", jobs)
        await fleet.until(lambda: fleet.provider.asked >= jobs, "asked for every job")
        for worker in fleet.workers:
            worker.proxy.refuse()
        fleet.provider.answer()
        await fleet.until(lambda: fleet.provider.answered >= jobs, "answered every call")
        await asyncio.sleep(place.scale.outage_seconds)
        for worker in fleet.workers:
            worker.proxy.restore()
        seconds = await _seconds_until(lambda: _all_recorded(connection, jobs))
        return seconds, fleet.provider.asked


async def _kill(place: Place) -> float:
    """Seconds from the death of a worker in the middle of its calls until another has made each of them again."""
    jobs = place.scale.outage_jobs
    async with place.database("outage_kill") as dsn, _fleet(place, dsn, 1) as fleet:
        await fleet.submit("weather", jobs)
        await fleet.until(lambda: fleet.provider.asked >= jobs, "asked for every job")
        await fleet.start(1)
        # Whoever has just come does not judge others yet: in a fleet that runs, some have been there for long.
        await asyncio.sleep(2 * LEASE_SECONDS * place.scale.outage_pace)
        fleet.workers[0].process.kill()

        async def made_again() -> bool:
            return fleet.provider.asked >= 2 * jobs

        return await _seconds_until(made_again)


async def _all_recorded(connection: "asyncpg.Connection[asyncpg.Record]", jobs: int) -> bool:
    return bool(await connection.fetchval(RECORDED) >= jobs)


async def _seconds_until(reached: Callable[[], Awaitable[bool]]) -> float:
    began = time.perf_counter()
    async with asyncio.timeout(GIVE_UP_SECONDS):
        while True:
            if await reached():
                return time.perf_counter() - began
            await asyncio.sleep(LOOK_SECONDS)


@asynccontextmanager
async def _fleet(place: Place, dsn: str, workers: int) -> AsyncIterator[Fleet]:
    folder = Path(tempfile.mkdtemp(prefix="holdfast-bench-outage-"))
    try:
        slots = place.scale.outage_jobs
        async with opened(dsn, folder, workers=workers, slots=slots, scale=place.scale.outage_pace) as fleet:
            yield fleet
    finally:
        shutil.rmtree(folder, ignore_errors=True)
