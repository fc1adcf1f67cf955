"""The worker: claims jobs, runs their phases, and gives back what it cannot finish."""

import asyncio
import random
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from holdfast.db.connection import Database
from holdfast.engine import events
from holdfast.engine.attempt import Attempt
from holdfast.engine.executor import out_of_time, perform, stopped
from holdfast.engine.journal import Journal
from holdfast.engine.lifeline import Lifeline, Pace
from holdfast.engine.patience import insist
from holdfast.engine.pipeline import Awaits, Done, Ending, Phase, Pipeline
from holdfast.engine.queue import Handle, Lane, Queue
from holdfast.engine.settler import Settler
from holdfast.engine.slots import Slots
from holdfast.errors import Conflict, DatabaseUnavailable

TICK_SECONDS = 0.2
# A notification may be held back for 20 ms after another one: look once more when that time is over.
SECOND_LOOK_SECONDS = 0.03
GOODBYE_SECONDS = 2.0


@dataclass(slots=True, eq=False)
class _Running:
    attempt: Attempt
    phase: Phase
    deadline: float
    task: "asyncio.Task[None] | None" = None
    has_slot: bool = True


class Worker:
    """Runs phases until stopped. One process may have several; they know each other only through the queue."""

    def __init__(
        self,
        database: Database,
        pipelines: Iterable[Pipeline],
        *,
        slots: Slots | None = None,
        pace: Pace | None = None,
        journal: Journal | None = None,
    ) -> None:
        self._pipelines = tuple(pipelines)
        self._slots = slots or Slots.serving(self._pipelines)
        self._pace = pace or Pace()
        self._database = database
        # What keeps the claims alive is served first, from connections that handlers cannot take.
        self._queue = Queue(database.urgent)
        self._lifeline = Lifeline(
            self._queue,
            self,
            pulse=Queue(database.vital),
            lanes=self._slots.all_lanes,
            pace=self._pace,
            before_sweep=self._adopt,
        )
        self._journal = journal
        self._settler = Settler(
            database,
            self._queue,
            on_written=self._written,
            answered_at=lambda: self._lifeline.answered_at,
            journal=journal,
        )
        self._is_claiming = False
        self._running: dict[Handle, _Running] = {}
        self._work = asyncio.Event()
        self._ended = asyncio.Event()
        self._stopping = asyncio.Event()
        self._stop_now = asyncio.Event()
        self.ticked_at = time.monotonic()

    @property
    def id(self) -> str:
        """The name under which it holds its claims."""
        return self._lifeline.worker_id

    def stop(self) -> None:
        """Claim nothing more, finish what runs, give back the rest. Called again: give everything back now."""
        if self._stopping.is_set():
            self._stop_now.set()
        self._stopping.set()
        self._work.set()

    async def run(self, *, until_idle: bool = False) -> None:
        """Work until stopped or, with `until_idle`, until nothing runs and what is left waits for a moment to come."""
        await insist(lambda: self._queue.register(self._pipelines))
        if self._journal is not None:
            await self._journal.replay(self._database)
        await insist(self._lifeline.enlist)
        loops = [self._listen, self._lifeline.beat, self._lifeline.sweep, self._tick, self._settler.run]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(loop()) for loop in loops]
                await self._claim(until_idle=until_idle)
                await self._finish()
                for task in tasks:
                    task.cancel()
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    # Claiming and running

    async def _claim(self, *, until_idle: bool) -> None:
        woken = True
        while not self._stopping.is_set():
            lanes = self._slots.free_lanes() if self._settler.congestion < 2 * self._slots.total else []
            if not lanes:
                await self._wait(self._ended, self._pace.poll_seconds)
                continue
            self._work.clear()
            # Asked before: what ends during the claim may queue what the claim no longer sees.
            nothing_ran, moved = not self._running and not self._settler.backlog, self._lifeline.moved
            attempts = await self._take(lanes)
            for attempt in attempts or ():
                self._start(attempt)
            if attempts:
                woken = True
                await asyncio.sleep(0)
            elif until_idle and attempts == [] and nothing_ran:
                if not await insist(self._bring_back) and self._lifeline.moved == moved:
                    return
            else:
                woken = await self._wait(self._work, SECOND_LOOK_SECONDS if woken else self._pause())

    async def _take(self, lanes: list[Lane]) -> list[Attempt] | None:
        """Claim, or None when there is no telling whether there is work."""
        self._is_claiming = True
        try:
            return await self._queue.claim(self.id, lanes)
        except DatabaseUnavailable as error:
            events.database_unavailable(error)
        except Conflict:
            events.worker_lost(self.id, len(self._running))
            self._lifeline.beat_soon()
        finally:
            self._is_claiming = False
        return None

    def _pause(self) -> float:
        return self._pace.poll_seconds * random.uniform(0.8, 1.2)

    def _start(self, attempt: Attempt) -> None:
        self._slots.take(attempt)
        running = _Running(attempt, self._slots.phase(attempt), time.monotonic() + attempt.limit_seconds)
        self._running[attempt.job_id, attempt.token] = running
        running.task = asyncio.create_task(self._perform(running))

    async def _perform(self, running: _Running) -> None:
        self._end(running, await perform(running.attempt, running.phase, self._queue))

    def _end(self, running: _Running, ending: Ending | None) -> None:
        """Take an ending, once; None when there is nothing to record because the claim is gone."""
        attempt = running.attempt
        if attempt.ended:
            return
        attempt.ended = True
        if isinstance(ending, Done | Awaits):
            self._free_slot(running)
        if ending is None:
            self._written(attempt)
        else:
            self._settler.add(attempt, ending, at_once=running.phase.paid)
        self._ended.set()

    def _written(self, attempt: Attempt) -> None:
        running = self._running.pop((attempt.job_id, attempt.token), None)
        if running is not None:
            self._free_slot(running)
        self._ended.set()
        self._work.set()  # it may have queued its next phase

    def _free_slot(self, running: _Running) -> None:
        """A success frees its slot at once. A failure only once it is written: it may hold its provider for all."""
        if running.has_slot:
            running.has_slot = False
            self._slots.free(running.attempt)

    def _break_off(self, running: _Running, ending: Ending | None) -> None:
        self._end(running, ending)
        if running.task is not None:
            running.task.cancel()

    # What the lifeline asks and says

    def held(self) -> list[Attempt]:
        """Every attempt whose ending is not written yet."""
        return [running.attempt for running in self._running.values()]

    def is_complete(self) -> bool:
        """Whether that is all; not while the answer to a claim is on its way."""
        return not self._is_claiming

    def renew(self, tokens: Mapping[Handle, int]) -> None:
        """Go on under these tokens: the worker was taken to be lost, and is back."""
        for handle, token in tokens.items():
            if running := self._running.pop(handle, None):
                running.attempt.token = token
                self._running[running.attempt.job_id, token] = running

    def drop(self, handle: Handle, reason: str) -> None:
        """Break off an attempt whose claim is gone. One that has ended is being written, and its token decides."""
        running = self._running.get(handle)
        if running is not None and not running.attempt.ended:
            events.attempt_dropped(running.attempt, reason)
            self._break_off(running, None)

    async def _tick(self) -> None:
        while True:
            now = time.monotonic()
            # What waits for a database that is away is not slow.
            away, self.ticked_at = 0.0 if self._lifeline.is_in_touch else now - self.ticked_at, now
            for running in list(self._running.values()):
                running.deadline += away
                if now > running.deadline and not running.attempt.ended:
                    self._break_off(running, out_of_time(running.attempt))
            await asyncio.sleep(TICK_SECONDS)

    async def _bring_back(self) -> int:
        """Let go on what nobody works on any more, or waits for members that have all ended; says how many.

        Jobs of a worker that may be dead count: within a lease it will be known.
        """
        moved = self._lifeline.moved
        undecided = (await self._lifeline.sweep_once())["undecided"]
        moved = self._lifeline.moved - moved + await self._queue.wake_parents()
        if undecided and not moved:
            await self._wait(self._work, self._pause())
        return int(moved + undecided)

    async def _adopt(self) -> None:
        """Have recorded what neighbours that died had paid for, as far as it is on this disk."""
        if self._journal is not None:
            await self._journal.adopt(self._database.urgent, within_seconds=self._pace.lease_seconds)

    async def _listen(self) -> None:
        await self._database.listen("holdfast", self._notified)

    def _notified(self, payload: str) -> None:
        match payload.split():
            case ["work"]:
                self._work.set()
            case ["dropped", job_id, token]:
                self.drop((int(job_id), int(token)), "it was cancelled or taken back")

    # Ending

    async def _finish(self) -> None:
        """Let what runs finish, up to a limit or a second stop; give the rest back; say goodbye."""
        deadline = time.monotonic() + self._pace.drain_seconds
        while self._running and not self._stop_now.is_set() and time.monotonic() < deadline:
            await self._wait(self._ended, TICK_SECONDS)
        left = [running for running in self._running.values() if not running.attempt.ended]
        for running in left:
            self._break_off(running, stopped(running.attempt, running.phase, "its worker stopped"))
        # What has ended may have cost money: a database that is away gets the rest of the time to come back.
        last_call = time.monotonic() + GOODBYE_SECONDS
        while self._settler.backlog and (
            time.monotonic() < last_call or (time.monotonic() < deadline and not self._stop_now.is_set())
        ):
            await self._wait(self._ended, TICK_SECONDS)
        if broken_off := [running.task for running in left if running.task]:
            # Not gathered: a handler that ignores its cancellation would be waited for without end.
            await asyncio.wait(broken_off, timeout=GOODBYE_SECONDS)
        kept, path = self._journal.kept if self._journal is not None else (0, None)
        if kept:
            # No goodbye: its jobs stay its own for a lease, in which whoever is on this disk records what is there.
            events.results_left_on_disk(self.id, kept, str(path))
        else:
            with suppress(TimeoutError, DatabaseUnavailable):
                async with asyncio.timeout(GOODBYE_SECONDS):
                    await self._lifeline.stop()
        events.worker_stopped(self.id, len(left))

    @staticmethod
    async def _wait(event: asyncio.Event, seconds: float) -> bool:
        """Wait for an event or so long; say whether it came, and make it ready for the next time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()
        came = event.is_set()
        event.clear()
        return came
