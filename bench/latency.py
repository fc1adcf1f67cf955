"""How soon an idle system begins: from calling submit to the first line of the handler in another process."""

import asyncio
import random
import time
from dataclasses import dataclass, field
from statistics import quantiles

from bench.contender import PIPELINE
from bench.drive import open_queue, serving, until_done
from bench.figure import Figure
from bench.place import Place
from holdfast.db.connection import Database
from holdfast.engine.queue import Submission, submit

SPACING_SECONDS = (0.02, 0.07)

STARTED = "select job_id, output from holdfast.pipeline_phase where phase = $1 and job_id = any ($2::bigint[])"


async def measure(place: Place) -> list[Figure]:
    """The median and the slowest in a hundred, over single submissions at random moments.

    In turn with a bare loop that is woken by the same notifications: what it needs too, the worker cannot save.
    """
    async with (
        place.database("latency") as dsn,
        place.database("latency_bare") as bare_dsn,
        serving(dsn),
        serving(bare_dsn, "bare-serve"),
        open_queue(dsn) as database,
        open_queue(bare_dsn) as bare_database,
    ):
        worker, bare = _Probe(database), _Probe(bare_database)
        for _ in range(place.scale.submissions):
            await worker.submit()
            await bare.submit()
        return _figures(await worker.percentiles(), await bare.percentiles())


@dataclass(frozen=True, slots=True)
class _Probe:
    """Submits to one side and remembers when."""

    database: Database
    called_ns: dict[int, int] = field(default_factory=dict)

    async def submit(self) -> None:
        await asyncio.sleep(random.uniform(*SPACING_SECONDS))
        now_ns = time.monotonic_ns()
        [submitted] = await submit(self.database, PIPELINE.name, [Submission(organisation="org")])
        self.called_ns[submitted.job_id] = now_ns

    async def percentiles(self) -> list[float]:
        """The percentiles of the milliseconds from call to start, when all is done."""
        await until_done(self.database)
        rows = await self.database.fetch(STARTED, PIPELINE.phases[0].name, list(self.called_ns))
        waited = [(row["output"]["started_ns"] - self.called_ns[row["job_id"]]) / 1e6 for row in rows]
        return quantiles(waited, n=100)


def _figures(worker: list[float], bare: list[float]) -> list[Figure]:
    name = "submit to handler start, p{}"
    return [
        Figure(
            name=name.format(percent),
            measured=worker[percent - 1],
            against=against,
            unit="ms",
            baseline=baseline,
            demand="at most",
            bound=bound,
        )
        for percent, against, baseline, bound in (
            (50, 10.0, "goal", 1.0),
            (99, 50.0, "goal", 1.0),
            (50, bare[49], "bare loop", 1.5),
        )
    ]
