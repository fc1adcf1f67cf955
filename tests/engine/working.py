"""A worker in this process, and pipelines of one phase for it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from holdfast.db.connection import Database
from holdfast.engine.lifeline import Pace
from holdfast.engine.pipeline import Phase, Pipeline
from holdfast.engine.queue import Queue, Submission, Submitted, submit
from holdfast.engine.worker import Worker

QUICK = Pace(heartbeat_seconds=0.1, sweep_seconds=0.2, poll_seconds=0.1, drain_seconds=5)


def pipeline_of(handler: Callable[..., Any], **options: Any) -> Pipeline:
    return Pipeline("test", phases=(Phase(name="only", handler=handler, done="complete", **options),))


async def take_in(database: Database, pipeline: Pipeline, count: int = 1, **fields: Any) -> list[Submitted]:
    await Queue(database).register([pipeline])
    return await submit(database, pipeline.name, [Submission(organisation="acme", **fields) for _ in range(count)])


async def work_off(database: Database, pipeline: Pipeline, count: int = 1, **fields: Any) -> list[Any]:
    """Submit, work until nothing is left, and return the jobs."""
    await take_in(database, pipeline, count, **fields)
    await Worker(database, [pipeline], pace=QUICK).run(until_idle=True)
    return await jobs_of(database)


async def jobs_of(database: Database) -> list[Any]:
    return await database.fetch("select * from holdfast.pipeline_job order by id")


@asynccontextmanager
async def running(database: Database, pipeline: Pipeline, pace: Pace = QUICK) -> AsyncIterator[Worker]:
    worker = Worker(database, [pipeline], pace=pace)
    run = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        worker.stop()
        await run


async def until(question: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await question():
            await asyncio.sleep(0.05)


async def state_is(database: Database, job_id: int, state: str) -> bool:
    return bool(await database.fetchval("select state from holdfast.pipeline_job where id = $1", job_id) == state)


async def all_final(database: Database) -> bool:
    return not await database.fetchval(
        "select exists (select from holdfast.pipeline_job where state not in ('done', 'deadletter', 'cancelled'))"
    )
