"""Real `holdfast worker` processes, each behind a proxy of its own, a provider that is paid and an object store."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from holdfast.db.connection import connect
from holdfast.engine.queue import Submission, submit
from holdfast.settings import Settings
from tests.endpoint import with_user
from tests.proxy import Proxy
from tests.weather.object_store import ObjectStore, keeping_objects
from tests.weather.pipelines import PROVIDER_URL, SLOTS
from tests.weather.provider import Provider, providing

ROOT = Path(__file__).parents[2]
LOGIN = "weather"
PIPELINES = ("weather", "hogging", "filing")
# As operators get it by default.
PACE: dict[str, float] = {
    name: Settings.model_fields[name].default
    for name in ("heartbeat_seconds", "lease_seconds", "sweep_seconds", "poll_seconds")
}
LEASE_SECONDS = PACE["lease_seconds"]
# For what is not measured: starting and ending processes on a busy machine.
PATIENCE_SECONDS = 60.0
LOG_TAIL = 3000


@dataclass(slots=True)
class WorkerProcess:
    """One worker, the proxy before its database, and what it logs."""

    process: asyncio.subprocess.Process
    proxy: Proxy
    log: Path

    @property
    def running(self) -> bool:
        return self.process.returncode is None


@dataclass(slots=True)
class Fleet:
    """Workers on one database. `dsn` is a superuser's and leads past the proxies."""

    dsn: str
    slots: int
    scale: float
    provider: Provider
    store: ObjectStore
    folder: Path
    resources: AsyncExitStack
    workers: list[WorkerProcess] = field(default_factory=list)

    async def submit(self, pipeline: str, count: int) -> None:
        items = [Submission(organisation="acme", source_name=f"document {n}") for n in range(count)]
        async with connect(Settings(database_url=self.dsn), connect_seconds=PATIENCE_SECONDS) as database:
            await submit(database, pipeline, items)

    async def ask(self, sql: str, *values: object) -> list[asyncpg.Record]:
        """The database's answer, on a connection of its own: whatever the weather did to others, this one is fresh."""
        connection = await asyncpg.connect(self.dsn, timeout=PATIENCE_SECONDS)
        try:
            return await connection.fetch(sql, *values)
        finally:
            await connection.close()

    async def until(self, reached: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Come back when it is so; a worker that ends meanwhile, or too long a wait, is a failure that says why."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not reached():
            self.check_running()
            assert asyncio.get_running_loop().time() < deadline, f"after {seconds:g} s not {what}; {self.last_words()}"
            await asyncio.sleep(0.05)

    async def until_none(self, sql: str, what: str, seconds: float = PATIENCE_SECONDS) -> None:
        """The same for a query that finds nothing any more."""
        found = await self.ask(sql)
        deadline = asyncio.get_running_loop().time() + seconds
        while found:
            self.check_running()
            late = asyncio.get_running_loop().time() >= deadline
            assert not late, f"after {seconds:g} s not {what}: {[tuple(row) for row in found[:5]]}; {self.last_words()}"
            await asyncio.sleep(0.2)
            found = await self.ask(sql)

    def check_running(self) -> None:
        ended = [worker.process.returncode for worker in self.workers if not worker.running]
        assert not ended, f"workers ended with {ended}; {self.last_words()}"

    def last_words(self) -> str:
        return "\n".join(worker.log.read_text()[-LOG_TAIL:] for worker in self.workers)

    async def stop(self) -> list[int]:
        """Tell every worker to finish and end; their exit codes."""
        for worker in self.workers:
            if worker.running:
                worker.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_SECONDS):
            return [await worker.process.wait() for worker in self.workers]

    async def start(self, workers: int) -> None:
        """Start so many more; comes back when they are known."""
        for _ in range(workers):
            await self._start_one()
        missing = f"select 1 where (select count(*) from holdfast.worker) < {len(self.workers)}"
        await self.until_none(missing, f"{len(self.workers)} workers started")

    async def _start_one(self) -> None:
        proxy = await self.resources.enter_async_context(Proxy(with_user(self.dsn, LOGIN)))
        log = self.folder / f"worker-{len(self.workers)}.log"
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "holdfast.cli", "worker"),
                *(argument for name in PIPELINES for argument in ("--pipeline", name)),
                env={**_environment(self.scale), **self._addresses(proxy)},
                cwd=ROOT,
                stdout=output,
                stderr=output,
            )
        self.workers.append(WorkerProcess(process, proxy, log))

    def _addresses(self, proxy: Proxy) -> dict[str, str]:
        return {
            # By name, as most are: then a new connection has to resolve it first.
            "HOLDFAST_DATABASE_URL": proxy.dsn.replace("127.0.0.1", "localhost"),
            "HOLDFAST_STORAGE_URL": self.store.url,
            "HOLDFAST_HOME": str(self.folder / "home"),
            PROVIDER_URL: self.provider.url,
            SLOTS: str(self.slots),
        }

    async def end(self) -> None:
        for worker in self.workers:
            if worker.running:
                worker.process.kill()
                await worker.process.wait()


def _environment(scale: float) -> dict[str, str]:
    """The default pace, all of it faster by one factor; nothing of ours besides."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")},
        **{f"HOLDFAST_{name.upper()}": str(seconds * scale) for name, seconds in PACE.items()},
        "HOLDFAST_PIPELINES": "tests.weather.pipelines:make",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }


PREPARE = f"""
do $$ begin
    create role {LOGIN} login in role holdfast_worker;
exception when duplicate_object then null;   -- roles are the server's, and outlive a database
end $$;
create table public.weather_answer (job_id bigint not null);
grant insert on public.weather_answer to {LOGIN};
"""


@asynccontextmanager
async def opened(dsn: str, folder: Path, *, workers: int, slots: int, scale: float = 1.0) -> AsyncIterator[Fleet]:
    """Workers that run and are known, on a migrated database; gone afterwards."""
    async with AsyncExitStack() as resources:
        provider = resources.enter_context(providing())
        store = resources.enter_context(keeping_objects())
        fleet = Fleet(dsn, slots, scale, provider, store, folder, resources)
        connection = await asyncpg.connect(dsn)
        await connection.execute(PREPARE)
        await connection.close()
        resources.push_async_callback(fleet.end)
        await fleet.start(workers)
        yield fleet
