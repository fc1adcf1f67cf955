"""Gives contenders something to do and reads from the attempts how fast they were."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from bench.contender import PIPELINE
from bench.place import connected
from holdfast.db.connection import Database, connect
from holdfast.engine.queue import Queue, Submission, submit
from holdfast.settings import Settings

BATCH = 1000
ORGANISATIONS = 10
STOP_SECONDS = 10.0

SPEED = """
select count(*) / extract(epoch from max(ended_at) - min(started_at))::float8 as phases_per_second,
       count(*)::float8 / count(distinct started_at) as claimed_at_once,
       count(*)::float8 / count(distinct ended_at) as settled_at_once
from holdfast.pipeline_phase
where id > $1
"""


@dataclass(frozen=True, slots=True)
class Speed:
    """What a contender achieved, and in batches of which mean size."""

    phases_per_second: float
    claimed_at_once: float
    settled_at_once: float


async def drain(dsn: str, way: Literal["drain", "bare-drain", "waiting-drain"], *, jobs: int) -> Speed:
    """Submit jobs, let a fresh process work them off, and say how fast it was from first claim to last settlement."""
    async with connected(dsn) as connection:
        before = await connection.fetchval("select coalesce(max(id), 0) from holdfast.pipeline_phase")
        async with open_queue(dsn) as database:
            await submit_many(database, jobs)
        # So that no run pays for what another one, or the submission, left to be written.
        await connection.execute("vacuum (analyze) holdfast.pipeline_job")
        await connection.execute("checkpoint")
        contender = await _start(way, dsn)
        if await contender.wait() != 0:
            raise RuntimeError(f"the contender {way} ended with {contender.returncode}: see its output above")
        row = await connection.fetchrow(SPEED, before)
        assert row is not None
        return Speed(*row)


@asynccontextmanager
async def serving(dsn: str, way: Literal["serve", "bare-serve"] = "serve") -> AsyncIterator[int]:
    """A contender that waits for work in a process of its own, ready and idle; yields its process id."""
    contender = await _start(way, dsn)
    try:
        async with open_queue(dsn) as database:
            await submit_many(database, 1)
            await until_done(database)
        yield contender.pid
    finally:
        contender.send_signal(signal.SIGTERM)
        async with asyncio.timeout(STOP_SECONDS):
            await contender.wait()


@asynccontextmanager
async def open_queue(dsn: str) -> AsyncIterator[Database]:
    """A database in which the pipeline of the contenders is known."""
    async with connect(Settings(database_url=dsn)) as database:
        await Queue(database).register([PIPELINE])
        yield database


async def submit_many(database: Database, jobs: int) -> None:
    """Submit that many jobs in batches, spread over a few organisations."""
    for first in range(0, jobs, BATCH):
        numbers = range(first, min(first + BATCH, jobs))
        await submit(database, PIPELINE.name, [Submission(organisation=f"org-{n % ORGANISATIONS}") for n in numbers])


async def until_done(database: Database) -> None:
    """Wait until no job of the contenders' pipeline is queued or under way."""
    unfinished = "select exists (select from holdfast.pipeline_job where pipeline = $1 and state <> 'done')"
    while True:
        if not await database.fetchval(unfinished, PIPELINE.name):
            return
        await asyncio.sleep(0.05)


async def _start(way: str, dsn: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.contender", way, dsn, stdout=asyncio.subprocess.DEVNULL
    )
