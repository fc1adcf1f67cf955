"""Documents on their way through a pipeline, carried by a real worker in a process of its own."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from bench.place import Place, connected
from holdfast.app import App, open_app
from holdfast.intake.sources.files import Files
from holdfast.pipelines import DOCUMENTS
from holdfast.settings import Settings

Watch: TypeAlias = Callable[[int], Coroutine[Any, Any, None]]

ORGANISATION = "bench"

SPENT = """
select phase, count(*) as documents, count(*) filter (where outcome = 'completed') as completed,
       sum(extract(epoch from ended_at - started_at))::float8 as busy_seconds,
       extract(epoch from max(ended_at) - min(started_at))::float8 as seconds
from holdfast.pipeline_phase
group by phase
order by min(started_at)
"""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a phase took: attempts, those that went well, the sum of their times, and from the first to the last."""

    phase: str
    documents: int
    completed: int
    busy_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Carrier:
    """A database and a home of its own; workers get `variables` besides."""

    settings: Settings
    variables: Mapping[str, str] = field(default_factory=dict)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[App]:
        """Holdfast in this process, connected to it."""
        async with open_app(self.settings) as app:
            yield app

    async def take_in(self, folder: Path, pipeline: str = DOCUMENTS) -> None:
        """Store the files of a folder and queue them."""
        async with self.opened() as app:
            await app.register()
            async for taken in app.intake(pipeline).take_in(Files(folder), organisation=ORGANISATION):
                if taken.result != "created":
                    raise RuntimeError(f"{taken.found.name} was not taken in but {taken.result}: {taken.reason}")

    async def work(self, *phases: str, beside: Watch | None = None) -> None:
        """Have a fresh `holdfast worker` do these phases, or all, until nothing is left of them.

        `beside` is given its process id, and runs for as long as it does.
        """
        async with connected(self.settings.database_url or "") as connection:
            await connection.execute("vacuum (analyze)")
            await connection.execute("checkpoint")
        only = [argument for phase in phases for argument in ("--phase", phase)]
        worker = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "holdfast.cli", "worker", "--drain", *only),
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")},
                "HOLDFAST_DATABASE_URL": self.settings.database_url or "",
                "HOLDFAST_HOME": str(self.settings.home),
                **self.variables,
            },
            cwd=self.settings.home,
            stderr=asyncio.subprocess.PIPE,
        )
        watching = asyncio.create_task(beside(worker.pid)) if beside else None
        _, said = await worker.communicate()
        if watching:
            watching.cancel()
            await asyncio.wait({watching})
        if worker.returncode != 0:
            raise RuntimeError(f"the worker ended with {worker.returncode}: {said.decode()[-2000:]}")

    async def spent(self) -> dict[str, Spent]:
        """What each phase took so far, in the order in which they began."""
        async with connected(self.settings.database_url or "") as connection:
            return {row["phase"]: Spent(*row) for row in await connection.fetch(SPENT)}


@asynccontextmanager
async def carrier(place: Place, name: str, variables: Mapping[str, str] | None = None) -> AsyncIterator[Carrier]:
    """A carrier whose database and home are gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="holdfast-bench-home-"))
    try:
        async with place.database(name) as dsn:
            yield Carrier(Settings(database_url=dsn, home=home), variables or {})
    finally:
        shutil.rmtree(home, ignore_errors=True)
