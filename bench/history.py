"""What a long history costs: the worker's speed with a million finished jobs stored, against an empty database."""

from statistics import median

from bench.drive import drain
from bench.figure import Figure
from bench.place import Place, connected
from tests.million import fill


async def measure(place: Place) -> list[Figure]:
    """Phases per second of both, in turn. The first run of each is left out: it warms the caches."""
    scale = place.scale
    full, empty = [], []
    async with place.database("full") as full_dsn, place.database("empty") as empty_dsn:
        async with connected(full_dsn) as connection:
            await fill(connection, finished_jobs=scale.finished_jobs)
        for _ in range(1 + scale.rounds):
            empty.append(await drain(empty_dsn, "drain", jobs=scale.jobs))
            full.append(await drain(full_dsn, "drain", jobs=scale.jobs))
    return [
        Figure(
            name=f"worker, {scale.finished_jobs:,} finished jobs stored",
            measured=median(run.phases_per_second for run in full[1:]),
            against=median(run.phases_per_second for run in empty[1:]),
            unit="phases/s",
            baseline="empty",
            demand="at least",
            bound=0.8,
        )
    ]
