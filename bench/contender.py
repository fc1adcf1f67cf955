"""A process that works through a pipeline of phases that do nothing, in one of several ways.

Run as `python -m bench.contender WAY DSN`. What it achieved is read from the attempts it left behind.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import asyncpg

from holdfast.db.connection import connect
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.engine.worker import Worker
from holdfast.settings import Settings

BATCH = 200
POLL_SECONDS = 0.05
WAIT_SECONDS = 0.05
WAITING_AT_ONCE = 20
CLAIM = "select job_id, token from holdfast.claim($1, $2::text::jsonb)"
SETTLE = "select * from holdfast.settle($1::text::jsonb)"


async def note_start(_: Attempt) -> Done:
    """Answer when it was called, by a clock that all processes of a machine share."""
    return Done({"started_ns": time.monotonic_ns()})


PIPELINE = Pipeline(
    "noop",
    phases=tuple(Phase(name=name, handler=note_start, done=f"{name}_done", concurrency=BATCH) for name in "abc"),
)


async def drain(dsn: str) -> None:
    """The real worker, until nothing is left to do."""
    async with connect(Settings(database_url=dsn)) as database:
        await Worker(database, [PIPELINE]).run(until_idle=True)


async def drain_waiting(dsn: str) -> None:
    """The same with phases that wait as for a model: the machine has time for others."""
    phases = tuple(replace(phase, handler=_wait, concurrency=WAITING_AT_ONCE) for phase in PIPELINE.phases)
    async with connect(Settings(database_url=dsn)) as database:
        await Worker(database, [replace(PIPELINE, phases=phases)]).run(until_idle=True)


async def _wait(_: Attempt) -> Done:
    await asyncio.sleep(WAIT_SECONDS)
    return Done()


async def serve(dsn: str) -> None:
    """The real worker, until SIGTERM."""
    async with connect(Settings(database_url=dsn)) as database:
        worker = Worker(database, [PIPELINE])
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        await worker.run()


async def loop_bare(dsn: str) -> None:
    """The same SQL functions, one after the other on one connection, until nothing is left to do."""
    async with _bare_worker(dsn) as (connection, name):
        while await _claim_and_settle(connection, name):
            pass


async def answer_bare(dsn: str) -> None:
    """The same, woken by notifications, until it is killed."""
    woken = asyncio.Event()
    async with _bare_worker(dsn) as (connection, name):
        await connection.add_listener("holdfast", lambda *_: woken.set())
        while True:
            while await _claim_and_settle(connection, name):
                pass
            with suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), POLL_SECONDS)
            woken.clear()


@asynccontextmanager
async def _bare_worker(dsn: str) -> AsyncIterator[tuple["asyncpg.Connection[asyncpg.Record]", str]]:
    connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(dsn)
    name = f"bare-{os.getpid()}"
    await connection.execute("select holdfast.register_worker($1, 'localhost', $2)", name, os.getpid())
    yield connection, name
    await connection.execute("select holdfast.stop_worker($1)", name)
    await connection.close()


async def _claim_and_settle(connection: "asyncpg.Connection[asyncpg.Record]", name: str) -> int:
    lanes = [{"pipeline": PIPELINE.name, "phase": phase.name, "limit": BATCH} for phase in PIPELINE.phases]
    claimed = await connection.fetch(CLAIM, name, json.dumps(lanes))
    endings = [{**row, "output": {"started_ns": time.monotonic_ns()}} for row in claimed]
    if endings:
        await connection.fetch(SETTLE, json.dumps(endings))
    return len(endings)


WAYS: dict[str, Callable[[str], Coroutine[None, None, None]]] = {
    "drain": drain,
    "waiting-drain": drain_waiting,
    "serve": serve,
    "bare-drain": loop_bare,
    "bare-serve": answer_bare,
}

if __name__ == "__main__":
    asyncio.run(WAYS[sys.argv[1]](sys.argv[2]))
