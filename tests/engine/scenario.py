"""A pipeline at work in a test: submit, claim, end an attempt and look, each in one line."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import asyncpg

from holdfast.db.connection import Database, connect
from holdfast.engine.attempt import Attempt
from holdfast.engine.classify import classify
from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.engine.policy import ENRICHMENT, PATIENT, Policy
from holdfast.engine.queue import Handle, Lane, Queue, Submission, Submitted, submit
from holdfast.errors import PhaseError
from holdfast.settings import Settings
from tests.conftest import CONNECT_SECONDS

WORKER = "worker-1"
LEASE_SECONDS = 10.0


async def no_work(_: Attempt) -> Done:
    """A handler that is declared and never called: these tests speak for the worker."""
    return Done()


def plain(*names: str, name: str = "documents", version: int = 1, policy: Policy = PATIENT) -> Pipeline:
    """A pipeline whose phases differ only in their names."""
    phases = tuple(Phase(name=phase, handler=no_work, done=f"{phase}_done", policy=policy) for phase in names)
    return Pipeline(name, phases, version=version)


STORIES = Pipeline(
    "stories",
    (
        Phase(
            name="enrich",
            handler=no_work,
            done="enriched",
            component="enrichment",
            policy=ENRICHMENT,
            budget="stories",
            provider="model",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One registered pipeline and one registered worker."""

    database: Database
    queue: Queue
    pipeline: str

    async def submit(self, count: int = 1, *, organisation: str = "acme", **facts: Any) -> list[Submitted]:
        items = [Submission(organisation=organisation, **facts)] * count
        return await submit(self.database, self.pipeline, items)

    async def submit_one(self, *, organisation: str = "acme", **facts: Any) -> Submitted:
        return (await self.submit(organisation=organisation, **facts))[0]

    async def claim(self, phase: str, limit: int = 1, *, worker: str = WORKER) -> list[Attempt]:
        return await self.queue.claim(worker, [Lane(self.pipeline, phase, limit)])

    async def claim_one(self, phase: str, *, worker: str = WORKER) -> Attempt:
        (attempt,) = await self.claim(phase, worker=worker)
        return attempt

    async def put_back_what_is_due(self) -> None:
        """A claim does that before it looks for work; this one looks for none."""
        await self.queue.claim(WORKER, [])

    async def fail(self, attempts: Iterable[Attempt], error: PhaseError) -> dict[Handle, str]:
        failure = classify(error)
        return await self.queue.fail([(attempt, failure) for attempt in attempts])

    async def submit_and_fail(self, count: int, error: PhaseError, **facts: Any) -> list[int]:
        """Jobs whose first phase, extract, failed so."""
        submitted = await self.submit(count, **facts)
        await self.fail(await self.claim("extract", count), error)
        return [one.job_id for one in submitted]

    async def fail_once(self, phase: str, error: PhaseError) -> Attempt:
        """Claim one job and fail it."""
        attempt = await self.claim_one(phase)
        await self.fail([attempt], error)
        return attempt

    async def settle(self, attempts: Iterable[Attempt], done: Done | None = None) -> dict[Handle, str]:
        return await self.queue.settle([(attempt, done or Done()) for attempt in attempts])

    async def settle_once(self, phase: str, done: Done | None = None) -> Attempt:
        """Claim one job and settle it."""
        attempt = await self.claim_one(phase)
        await self.settle([attempt], done)
        return attempt

    async def register_worker(self, worker: str) -> None:
        await self.queue.register_worker(worker, host="test", pid=1, lanes=[])

    async def job(self, job_id: int) -> asyncpg.Record:
        row = await self.database.fetchrow("select * from holdfast.pipeline_job where id = $1", job_id)
        assert row is not None
        return row

    async def document(self, document_id: int) -> asyncpg.Record:
        row = await self.database.fetchrow("select * from holdfast.document where id = $1", document_id)
        assert row is not None
        return row

    async def outcomes(self, job_id: int) -> list[str]:
        """How the job's finished attempts ended, in their order."""
        rows = await self.database.fetch(
            "select outcome from holdfast.pipeline_phase where job_id = $1 order by id", job_id
        )
        return [row["outcome"] for row in rows]

    async def states(self) -> dict[str, int]:
        """How many jobs are in each state."""
        rows = await self.database.fetch("select state, count(*) from holdfast.pipeline_job group by state")
        return {row["state"]: row["count"] for row in rows}

    async def reserve(self, attempt: Attempt, amount_usd: str) -> bool:
        return (await self.queue.reserve_budget(attempt, Decimal(amount_usd))).granted


async def begin(database: Database, pipeline: Pipeline) -> Scenario:
    """Register the pipeline and the worker."""
    queue = Queue(database)
    await queue.register([pipeline])
    scenario = Scenario(database, queue, pipeline.name)
    await scenario.register_worker(WORKER)
    return scenario


@asynccontextmanager
async def many_connections(dsn: str, pool_size: int) -> AsyncIterator[Database]:
    """The same database for that many callers at once."""
    settings = Settings(database_url=dsn, pool_size=pool_size)
    async with connect(settings, connect_seconds=CONNECT_SECONDS) as database:
        yield database


async def until_someone_waits_for_a_lock(database: Database, waiting: int = 1) -> None:
    """Come back when so many statements in this database are blocked by other transactions."""
    await database.execute(
        f"""
        do $$ begin
            while {waiting} > (
                select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
            ) loop
                perform pg_sleep(0.01), pg_stat_clear_snapshot();
            end loop;
        end $$
        """
    )


@asynccontextmanager
async def told_to_workers(database: Database) -> AsyncIterator["asyncio.Queue[str]"]:
    """What workers are told while the block runs."""
    told = asyncio.Queue[str]()
    since = await database.fetchval("select clock_timestamp()")
    listening = asyncio.create_task(database.listen("holdfast", told.put_nowait))
    try:
        await until_listened_to(database, since)
        yield told
    finally:
        listening.cancel()


async def until_listened_to(database: Database, since: datetime) -> None:
    """Come back when somebody in this database listens for notifications who began after that moment.

    Whoever listened before may have hung up and be there still. A session that is idle is done with beginning.
    """
    listens = """
        select exists (
            select from pg_stat_activity
            where datname = current_database() and query ilike 'listen%' and state = 'idle' and backend_start > $1
        )
    """
    while not await database.fetchval(listens, since):
        await asyncio.sleep(0.01)
