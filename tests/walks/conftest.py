"""Worker processes to kill, and the table their phases write to."""

import asyncio
import json
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.db.connection import Database
from holdfast.engine.queue import Queue, Submission, submit
from tests.walks.losing import lose
from tests.walks.worker_process import Walk

WAIT_SECONDS = 60.0
# Looks often for who was lost, and takes nobody for lost who is only slow.
ATTENTIVE = {"heartbeat_seconds": 0.4, "lease_seconds": 60.0, "sweep_seconds": 0.4}


class WorkerProcess:
    """A worker in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def says(self, what: str) -> None:
        """Wait until it prints that line."""
        assert self.process.stdout is not None
        async with asyncio.timeout(WAIT_SECONDS):
            while line := (await self.process.stdout.readline()).decode().strip():
                if line == what:
                    return
        raise AssertionError(f"the worker ended without saying {what}")

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    @property
    def running(self) -> bool:
        return self.process.returncode is None


class Walks:
    """What a walk needs: processes, documents, and what became of them."""

    def __init__(self, database: Database, dsn: str, log: Path) -> None:
        self.database = database
        self.dsn = dsn
        self.log = log
        self._started: list[WorkerProcess] = []

    async def prepare(self) -> None:
        await self.database.execute("create table if not exists walk_result (job_id bigint, phase text)")
        await Queue(self.database).register([Walk(self.log, None).pipeline])
        self.log.touch()

    async def start(self, *, pause_at: str | None = None, dsn: str | None = None, **pace: float) -> WorkerProcess:
        config = {"dsn": dsn or self.dsn, "log": str(self.log), "pause_at": pause_at, "pace": pace}
        return await self._start("tests.walks.worker_process", config)

    async def start_parsing(self, parser_url: str, *, dies_before_settle: bool = False) -> WorkerProcess:
        config = {"dsn": self.dsn, "parser_url": parser_url, "dies_before_settle": dies_before_settle}
        return await self._start("tests.walks.parsing_process", config)

    async def _start(self, module: str, config: dict[str, Any]) -> WorkerProcess:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, json.dumps(config), stdout=asyncio.subprocess.PIPE
        )
        worker = WorkerProcess(process)
        self._started.append(worker)
        await worker.says("started")
        return worker

    async def submit(self, count: int = 1, **metadata: Any) -> list[int]:
        items = [Submission(organisation="acme", source_name=f"document {n}", metadata=metadata) for n in range(count)]
        return [submitted.job_id for submitted in await submit(self.database, "walk", items)]

    async def lose(self, worker: WorkerProcess) -> None:
        """Come back when a worker that is dead or frozen counts as lost."""
        await lose(self.database, pid=worker.process.pid)

    async def until(self, question: Callable[[], Awaitable[bool]], seconds: float = WAIT_SECONDS) -> None:
        async with asyncio.timeout(seconds):
            while not await question():
                await asyncio.sleep(0.1)

    async def until_state(self, job_id: int, state: str, seconds: float = WAIT_SECONDS) -> None:
        async def reached() -> bool:
            sql = "select state from holdfast.pipeline_job where id = $1"
            return bool(await self.database.fetchval(sql, job_id) == state)

        await self.until(reached, seconds)

    async def outcomes(self, job_id: int) -> list[tuple[str, str]]:
        rows = await self.database.fetch(
            "select phase, outcome from holdfast.pipeline_phase where job_id = $1 order by token", job_id
        )
        return [(row["phase"], row["outcome"]) for row in rows]

    async def results(self, job_id: int) -> list[str]:
        """The phases whose own writes were committed, each as often as it was."""
        rows = await self.database.fetch("select phase from walk_result where job_id = $1 order by phase", job_id)
        return [row["phase"] for row in rows]

    def calls(self, job_id: int) -> Counter[str]:
        """How often each phase's handler was called for this job."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return Counter(phase for phase, job, _ in lines if int(job) == job_id)

    async def end(self) -> None:
        for worker in self._started:
            if worker.running:
                worker.send(signal.SIGCONT)
                await worker.kill()


@pytest.fixture
async def walks(database: Database, dsn: str, tmp_path: Path) -> AsyncIterator[Walks]:
    walks = Walks(database, dsn, tmp_path / "calls.log")
    await walks.prepare()
    yield walks
    await walks.end()
