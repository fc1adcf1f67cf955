"""How much of the database's speed the worker leaves: against the same SQL functions in a bare loop."""

from statistics import median

from bench.drive import drain
from bench.figure import Figure
from bench.place import Place


async def measure(place: Place) -> list[Figure]:
    """Phases per second of both, in turn; the worker must keep three fifths of the loop and reach 8,000."""
    worker, bare = [], []
    async with place.database("throughput") as dsn:
        for _ in range(place.scale.rounds):
            worker.append(await drain(dsn, "drain", jobs=place.scale.jobs))
            bare.append(await drain(dsn, "bare-drain", jobs=place.scale.jobs))
    speed = median(run.phases_per_second for run in worker)
    claimed = median(run.claimed_at_once for run in worker)
    settled = median(run.settled_at_once for run in worker)
    bare_speed = median(run.phases_per_second for run in bare)
    bare_batch = median(run.settled_at_once for run in bare)
    return [
        Figure(
            name=f"worker, claims of {claimed:.0f}, settles {settled:.0f}",
            measured=speed,
            against=bare_speed,
            unit="phases/s",
            baseline=f"bare loop, batches of {bare_batch:.0f}",
            demand="at least",
            bound=0.6,
        ),
        Figure(
            name="worker, end to end",
            measured=speed,
            against=8000,
            unit="phases/s",
            baseline="goal",
            demand="at least",
        ),
    ]
