"""What a long queue costs: a claim from a million waiting jobs, against one from a queue with just enough."""

import json
import time
from statistics import median
from typing import TYPE_CHECKING

from bench.contender import BATCH, CLAIM, PIPELINE, SETTLE
from bench.drive import open_queue, submit_many
from bench.figure import Figure
from bench.place import Place, connected, execute
from tests.million import PIPELINE as HISTORY
from tests.million import fill

if TYPE_CHECKING:
    import asyncpg

ORGANISATIONS = 1000


async def measure(place: Place) -> list[Figure]:
    """Milliseconds per claim of both, in turn. The claims of the first quarter are left out."""
    scale = place.scale
    long, short = [], []
    async with place.database("backlog") as long_dsn, place.database("short") as short_dsn:
        async with connected(long_dsn) as connection:
            await fill(connection, finished_jobs=0, queued_jobs=scale.backlog_jobs, organisations=ORGANISATIONS)
        async with open_queue(short_dsn) as database, connected(long_dsn) as a, connected(short_dsn) as b:
            for connection in (a, b):
                await connection.execute("select holdfast.register_worker('bare', 'localhost', 1)")
            await execute(place.dsn, "checkpoint")
            for _ in range(scale.claims):
                await submit_many(database, BATCH)
                short.append(await _claim(b, PIPELINE.name, PIPELINE.phases[0].name))
                long.append(await _claim(a, HISTORY.name, HISTORY.phases[0].name))
    warm = scale.claims // 4
    return [
        Figure(
            name=f"claim of {BATCH}, {scale.backlog_jobs:,} waiting",
            measured=median(long[warm:]),
            against=median(short[warm:]),
            unit="ms",
            baseline="nothing else waiting",
            demand="at most",
            bound=2.0,
        )
    ]


async def _claim(connection: "asyncpg.Connection[asyncpg.Record]", pipeline: str, phase: str) -> float:
    """Claim a batch, settle it outside the measured time, and say how many milliseconds the claim took."""
    lanes = json.dumps([{"pipeline": pipeline, "phase": phase, "limit": BATCH}])
    began = time.perf_counter()
    claimed = await connection.fetch(CLAIM, "bare", lanes)
    took = time.perf_counter() - began
    if len(claimed) != BATCH:
        raise RuntimeError(f"a claim of {BATCH} jobs got {len(claimed)}: the queue was not filled as planned")
    await connection.fetch(SETTLE, json.dumps([dict(row) for row in claimed]))
    return took * 1000
