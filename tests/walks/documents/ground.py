"""Holdfast opened on a database and folders of its own, and what became of the documents it was given."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App, open_for_worker
from holdfast.intake.found import Found
from holdfast.intake.intake import Taken
from holdfast.intake.sources.files import Files
from holdfast.settings import Settings

ORGANISATION = "acme"
# A machine with much else to do takes several times as long as one that has only this.
WAIT_SECONDS = 300.0
LONG = pytest.mark.timeout(600)
# Nobody dies here, so nobody needs to be missed soon: a worker on a busy machine is not taken for a dead one.
UNHURRIED = {"lease_seconds": 60.0}
PHASES = ("store", "extract", "validate", "chunk", "embed", "graph_extract", "graph_add", "publish")
COMPLETED_ONCE = Counter({(phase, "completed"): 1 for phase in PHASES})
# A job that an operator holds waits for that operator.
UNDER_WAY = """
select exists (
    select from holdfast.pipeline_job where state in ('queued', 'working') or (state = 'held' and hold_id is null)
)
"""


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a walk takes place. What is written to `library` can be taken in."""

    dsn: str
    folder: Path

    @property
    def library(self) -> Path:
        return self._made("library")

    @property
    def store(self) -> Path:
        """The folder that artifacts are in."""
        return self._made("store")

    def settings(self, **changed: Any) -> Settings:
        home = self._made("home")
        return Settings(database_url=self.dsn, home=home, storage_url=self.store.as_uri(), **{**UNHURRIED, **changed})

    @asynccontextmanager
    async def opened(self, **changed: Any) -> AsyncIterator[App]:
        async with open_for_worker(self.settings(**changed)) as app:
            await app.register()
            yield app

    def _made(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path


async def take_in(app: App, source: Path | Iterable[Found]) -> list[Taken]:
    """Take in a file, the files of a folder, or what was found elsewhere."""
    found = Files(source) if isinstance(source, Path) else source
    return [taken async for taken in app.intake("documents").take_in(found, organisation=ORGANISATION)]


async def work(app: App, **choice: Any) -> None:
    """Run a worker until every job came to an end, or waits for a person."""

    async def ended() -> bool:
        return not await app.database.fetchval(UNDER_WAY)

    await work_until(app, ended, **choice)


async def work_until(app: App, question: Callable[[], Awaitable[bool]], **choice: Any) -> None:
    """Run a worker until the answer is yes."""
    worker = app.worker(**choice)
    running = asyncio.create_task(worker.run())
    try:
        await until(question)
    finally:
        worker.stop()
        await running


async def until(question: Callable[[], Awaitable[bool]], seconds: float = WAIT_SECONDS) -> None:
    """Ask again and again until the answer is yes."""
    async with asyncio.timeout(seconds):
        while not await question():
            await asyncio.sleep(0.05)


async def jobs(app: App) -> dict[str, dict[str, Any]]:
    """Where every document stands, by its name."""
    rows = await app.database.fetch(
        "select d.source_name, d.id as document_id, d.parent_id, j.id, j.state, j.status, j.phase, j.last_error"
        " from holdfast.document d join holdfast.pipeline_job j on j.document_id = d.id"
    )
    return {row["source_name"]: dict(row) for row in rows}


async def attempts(app: App, name: str) -> Counter[tuple[str, str]]:
    """How often each phase of a document ended how."""
    rows = await app.database.fetch(
        "select a.phase, a.outcome from holdfast.pipeline_phase a join holdfast.pipeline_job j on j.id = a.job_id"
        " join holdfast.document d on d.id = j.document_id where d.source_name = $1",
        name,
    )
    return Counter((row["phase"], row["outcome"]) for row in rows)
