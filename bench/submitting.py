"""How fast documents are taken in: batches through the Python API, against plain inserts of the same rows."""

import time
from statistics import median
from typing import TYPE_CHECKING

from bench.contender import PIPELINE
from bench.drive import BATCH, ORGANISATIONS, open_queue, submit_many
from bench.figure import Figure
from bench.place import Place, connected

if TYPE_CHECKING:
    import asyncpg

RUNS = 6

INSERT = """
with arrived as (
    insert into holdfast.document (organisation, source_name, created_at)
    select 'org-' || n % $3, 'unnamed', now() from generate_series(1, $2::integer) n
    returning id, organisation
)
insert into holdfast.pipeline_job (document_id, organisation, pipeline, phase, status, state, vtime,
                                   submitted_at, queued_at)
select a.id, a.organisation, p.pipeline, p.name, p.queued_status, 'queued', a.id, now(), now()
from arrived a
join holdfast.phase p on p.pipeline = $1 and p.name = $4
"""


async def measure(place: Place) -> list[Figure]:
    """Jobs per second of one submitter with one batch under way at a time, in turn; the first runs warm up."""
    jobs = place.scale.submitted_jobs // RUNS
    submitted, inserted = [], []
    async with place.database("submitting") as dsn, open_queue(dsn) as database, connected(dsn) as connection:
        for _ in range(RUNS):
            await connection.execute("checkpoint")
            began = time.perf_counter()
            await submit_many(database, jobs)
            between = time.perf_counter()
            await _insert_many(connection, jobs)
            submitted.append(jobs / (between - began))
            inserted.append(jobs / (time.perf_counter() - between))
    return _figures(median(submitted[1:]), median(inserted[1:]))


async def _insert_many(connection: "asyncpg.Connection[asyncpg.Record]", jobs: int) -> None:
    for _ in range(0, jobs, BATCH):
        await connection.execute(INSERT, PIPELINE.name, BATCH, ORGANISATIONS, PIPELINE.phases[0].name)


def _figures(submitted: float, inserted: float) -> list[Figure]:
    return [
        Figure(
            name=f"submit in batches of {BATCH:,}",
            measured=submitted,
            against=against,
            unit="jobs/s",
            baseline=baseline,
            demand="at least",
            bound=bound,
        )
        for against, baseline, bound in ((15_000.0, "goal", 1.0), (inserted, "plain inserts", 0.5))
    ]
