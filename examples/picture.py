"""Where everything stands, asked again and again and drawn as one bar per phase."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from press import press
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from holdfast.app import App

PHASES = tuple(phase.name for phase in press.phases)
OFTEN_SECONDS = 0.1
NAMES = {"retry": "waiting to retry", "deadletter": "in the dead letter"}


@dataclass(frozen=True, slots=True)
class Picture:
    """All jobs at one moment."""

    jobs: list[dict[str, Any]]
    in_hand: dict[int, int]
    """How many jobs each living worker process has, by its process id."""
    budget_held: bool

    @classmethod
    async def taken(cls, app: App) -> "Picture":
        page = await app.overview.jobs(limit=1000)
        workers = {worker["pid"]: worker["working"] for worker in await app.overview.workers()}
        budget_held = any(hold["budget"] for hold in await app.overview.holds())
        return cls(page["jobs"], workers, budget_held)

    @property
    def carried(self) -> list[dict[str, Any]]:
        """Jobs that run at all: a duplicate is recognised and goes nowhere."""
        return [job for job in self.jobs if job["status"] != "duplicate"]

    def past(self, phase: str) -> int:
        """How many jobs have finished this phase."""
        reached = PHASES.index(phase)
        return sum(job["state"] == "done" or PHASES.index(job["phase"]) > reached for job in self.carried)

    def states(self, phase: str | None = None) -> Counter[str]:
        """How many jobs are in each state: queued, working, held …; those waiting for a retry count as "retry"."""
        return Counter(
            "retry" if job["state"] == "failed" and job["retry_at"] else job["state"]
            for job in self.carried
            if phase in (None, job["phase"])
        )

    @property
    def settled(self) -> bool:
        """Whether nothing more will happen by itself."""
        states = self.states()
        return bool(self.jobs) and not any(states[state] for state in ("queued", "working", "held", "retry"))

    @property
    def out_of_money(self) -> bool:
        """Whether whatever is not finished waits for a budget."""
        states = self.states()
        return self.budget_held and not states["working"] and not states["retry"]


class Watch:
    """Draws the picture while the story goes on, and waits for what the story waits for."""

    def __init__(self, app: App, console: Console) -> None:
        self._app = app
        self._started_at = time.monotonic()
        self._progress = Progress(
            TextColumn("  {task.description:<7}"),
            BarColumn(bar_width=30, complete_style="green"),
            MofNCompleteColumn(),
            TextColumn("[dim]{task.fields[now]}"),
            console=console,
        )
        self._bars: dict[str, TaskID] = {}

    def tell(self, text: str) -> None:
        """Say what happened, above the bars."""
        self._progress.console.print(f"[dim]{time.monotonic() - self._started_at:5.1f} s[/]  {text}", highlight=False)

    async def until(self, reached: Callable[[Picture], bool], *, seconds: float = 120) -> Picture:
        """Keep drawing until it is so; raises TimeoutError when it never is."""
        async with asyncio.timeout(seconds):
            while True:
                picture = await Picture.taken(self._app)
                self._draw(picture)
                if reached(picture):
                    return picture
                await asyncio.sleep(OFTEN_SECONDS)

    @asynccontextmanager
    async def drawing(self) -> AsyncIterator["Watch"]:
        """Show the bars while the block runs."""
        with self._progress:
            self._bars = {phase: self._progress.add_task(phase, total=None, now="") for phase in PHASES}
            yield self

    def _draw(self, picture: Picture) -> None:
        for phase, bar in self._bars.items():
            states = picture.states(phase)
            states.pop("done", None)
            now = ", ".join(f"{count} {NAMES.get(state, state)}" for state, count in states.most_common())
            self._progress.update(bar, completed=picture.past(phase), total=len(picture.carried), now=now)
