"""Writes the endings of attempts: cheap ones in groups, paid ones at once, each exactly once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from holdfast.db.connection import Database
from holdfast.engine import events
from holdfast.engine.attempt import Attempt
from holdfast.engine.classify import Failure, classify
from holdfast.engine.patience import insist
from holdfast.engine.pipeline import Awaits, Done, Ending, GiveBack
from holdfast.engine.queue import Handle, Queue

Written = Callable[[Attempt], None]
Value = TypeVar("Value")
Pair = tuple[Attempt, Value]
Paid = TypeVar("Paid", Done, Awaits)

GROUP_LIMIT = 500


class Settler:
    """Collects endings and writes them; while one group is being written the next one gathers.

    After a cut connection the same ending is written again: the token makes that a look-up when the first try had
    arrived, and nothing at all when the claim was lost meanwhile.
    """

    def __init__(self, database: Database, queue: Queue, on_written: Written) -> None:
        self._database = database
        self._queue = queue
        self._on_written = on_written
        self._group: list[tuple[Attempt, Ending]] = []
        self._alone: set[asyncio.Task[None]] = set()
        self._arrived = asyncio.Event()
        self._writing = False

    @property
    def backlog(self) -> int:
        """How many endings are not written yet."""
        return len(self._group) + len(self._alone)

    @property
    def empty(self) -> bool:
        return not self._group and not self._alone and not self._writing

    def add(self, attempt: Attempt, ending: Ending, *, at_once: bool = False) -> None:
        """Take an ending to be written: with others, or by itself right now."""
        if at_once or (isinstance(ending, Done | Awaits) and ending.cost_usd):
            task = asyncio.create_task(self._write([(attempt, ending)]))
            self._alone.add(task)
            task.add_done_callback(self._alone.discard)
        else:
            self._group.append((attempt, ending))
            self._arrived.set()

    async def run(self) -> None:
        """Write groups until cancelled."""
        while True:
            await self._arrived.wait()
            await asyncio.sleep(0)  # whoever is just ending comes along
            self._arrived.clear()
            while self._group:
                group, self._group = self._group[:GROUP_LIMIT], self._group[GROUP_LIMIT:]
                self._writing = True
                try:
                    await self._write(group)
                finally:
                    self._writing = False

    async def _write(self, group: Sequence[tuple[Attempt, Ending]]) -> None:
        done: list[Pair[Done]] = []
        failed: list[Pair[Failure]] = []
        given_back: list[Pair[GiveBack]] = []
        awaiting: list[Pair[Awaits]] = []
        for attempt, ending in group:
            match ending:
                case Done():
                    done.append((attempt, ending))
                case Failure():
                    failed.append((attempt, ending))
                case GiveBack():
                    given_back.append((attempt, ending))
                case Awaits():
                    awaiting.append((attempt, ending))
        if done:
            await self._write_paid(done, self._settle)
        if awaiting:
            await self._write_paid(awaiting, self._queue.await_answers)
        if failed:
            await self._write_failed(failed)
        if given_back:
            await self._write_given_back(given_back)
        for attempt, ending in group:
            events.attempt_ended(attempt, ending)
            self._on_written(attempt)

    async def _write_paid(
        self, pairs: list[Pair[Paid]], write: Callable[[list[Pair[Paid]]], Awaitable[dict[Handle, str]]]
    ) -> None:
        try:
            events.stale_claims(await insist(lambda: write(pairs)))
        except Exception as error:
            # One of them cannot be stored, and says nothing about the others.
            if len(pairs) > 1:
                for pair in pairs:
                    await self._write_paid([pair], write)
            else:
                attempt, ending = pairs[0]
                await self._write_failed([(attempt, replace(classify(error), cost_usd=ending.cost_usd))])

    async def _settle(self, done: list[Pair[Done]]) -> dict[Handle, str]:
        if all(ending.save is None for _, ending in done):
            return await self._queue.settle(done)
        async with self._database.transaction() as connection:
            results = await self._queue.settle(done, connection)
            for attempt, ending in done:
                if ending.save is not None and results[attempt.job_id, attempt.token] == "settled":
                    await ending.save(connection)
            return results

    async def _write_failed(self, failed: list[Pair[Failure]]) -> None:
        try:
            events.stale_claims(await insist(lambda: self._queue.fail(failed)))
        except Exception as error:
            if len(failed) > 1:
                for pair in failed:
                    await self._write_failed([pair])
            else:
                events.ending_not_written(failed[0][0], error)

    async def _write_given_back(self, given_back: list[Pair[GiveBack]]) -> None:
        try:
            await insist(lambda: self._queue.give_back(given_back))
        except Exception as error:
            # The next heartbeat does not name them any more, and that gives them back too.
            for attempt, _ in given_back:
                events.ending_not_written(attempt, error)
