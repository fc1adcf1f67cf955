"""What a worker costs that has nothing to do: its own processor time and that of its database connections."""

import asyncio

import psutil

from bench.drive import open_queue, serving
from bench.figure import Figure
from bench.place import Place

BACKENDS = "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"


async def measure(place: Place) -> list[Figure]:
    """Per cent of one core over a while, polling, heartbeats and sweeps included."""
    seconds = place.scale.idle_seconds
    async with place.database("idle") as dsn, serving(dsn) as worker_pid, open_queue(dsn) as database:
        await asyncio.sleep(1)
        backends = [row["pid"] for row in await database.fetch(BACKENDS)]
        before = _processor_seconds([worker_pid]), _processor_seconds(backends)
        await asyncio.sleep(seconds)
        after = _processor_seconds([worker_pid]), _processor_seconds(backends)
    return [
        Figure(
            name=f"idle {who}",
            measured=100 * (later - earlier) / seconds,
            against=1.0,
            unit="% of a core",
            baseline="goal",
            demand="at most",
        )
        for who, earlier, later in zip(("worker", "worker's connections"), before, after, strict=True)
    ]


def _processor_seconds(pids: list[int]) -> float:
    total = 0.0
    for pid in pids:
        spent = psutil.Process(pid).cpu_times()
        total += spent.user + spent.system
    return total
