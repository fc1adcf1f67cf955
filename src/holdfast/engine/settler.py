"""Writes the endings of attempts: cheap ones in groups, paid ones and those that save by themselves, each exactly once.

One rule decides about every ending that is not written at once. An error that is the item's own (its value cannot be
stored, its `save` raised) turns it into a failure that says so, and a failure that cannot be stored into a smaller one:
some ending can always be written. Any other error says nothing about the item: it is offered again until the
database takes it.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeAlias

import asyncpg

from holdfast.db.connection import Connection, Database
from holdfast.db.pauses import Pauses
from holdfast.engine import events
from holdfast.engine.attempt import Attempt
from holdfast.engine.classify import Failure, classify, not_storable
from holdfast.engine.journal import Journal
from holdfast.engine.patience import insist
from holdfast.engine.pipeline import Awaits, Done, Ending, GiveBack
from holdfast.engine.queue import Handle, Queue, ending_call
from holdfast.engine.saves import (
    SaveEndedTransaction,
    SaveEscaped,
    SaveIgnoredError,
    SaveOvertaken,
    SavePlaces,
    SaveTurn,
)
from holdfast.errors import Category, DatabaseUnavailable, DatabaseUnusable, InvalidInput, StatementTimedOut

Pair: TypeAlias = tuple[Attempt, Ending]

GROUP_LIMIT = 500
# How often a save may fail in a way that blames nobody, while the database answers others, until it is to blame.
SAVE_TRIES = 3
# So many saves that take long may wait for their turn, and what is claimed meanwhile does not depend on them.
LONG_SAVES_LIMIT = 100
# A value that cannot be stored, a constraint that is violated, one beyond the server's limits; of a save also what is
# wrong with its statements.
OWN_CLASSES = ("22", "23", "54")
OWN_CLASSES_OF_SAVES = (*OWN_CLASSES, "21", "2F", "34", "38", "39", "42", "44", "P0")
NOT_STORABLE = "ENDING_NOT_STORABLE"


class Settler:
    """Collects endings and writes them; while one group is being written the next one gathers.

    After a cut connection the same ending is written again: the token makes that a look-up when the first try had
    arrived. `answered_at` says when the database last answered a heartbeat.
    """

    def __init__(
        self,
        database: Database,
        queue: Queue,
        *,
        on_written: Callable[[Attempt], None],
        answered_at: Callable[[], float],
        journal: Journal | None = None,
    ) -> None:
        self._database = database
        self._queue = queue
        self._on_written = on_written
        self._answered_at = answered_at
        self._journal = journal
        self._group: list[Pair] = []
        self._alone: set[asyncio.Task[None]] = set()
        self._arrived = asyncio.Event()
        self._writing = 0
        self._places = SavePlaces(database.shared_connections)

    @property
    def backlog(self) -> int:
        """How many endings are not written yet."""
        return len(self._group) + len(self._alone) + self._writing

    @property
    def congestion(self) -> int:
        """How many endings others wait for. Saves that take long wait for each other only."""
        return self.backlog - min(self._places.long_ones, LONG_SAVES_LIMIT)

    def add(self, attempt: Attempt, ending: Ending, *, at_once: bool = False) -> None:
        """Take an ending to be written: with others, or by itself right now."""
        if isinstance(ending, Done) and ending.save is not None:
            self._begin(attempt, ending, self._write_saving(attempt, ending))
        elif at_once or _may_have_paid(ending):
            self._begin(attempt, ending, self._offer(attempt, ending))
        else:
            self._group.append((attempt, ending))
            self._arrived.set()

    async def run(self) -> None:
        """Write until cancelled; what is not written then stays with the database's word about its claim."""
        try:
            while True:
                await self._arrived.wait()
                await asyncio.sleep(0)  # what ends in the same moment comes along
                self._arrived.clear()
                while self._group:
                    group, self._group = self._group[:GROUP_LIMIT], self._group[GROUP_LIMIT:]
                    self._writing = len(group)
                    try:
                        await self._write(group)
                    finally:
                        self._writing = 0
        finally:
            for task in self._alone:
                task.cancel()

    def _begin(self, attempt: Attempt, ending: Ending, writing: Coroutine[Any, Any, None]) -> None:
        if self._journal is not None and _may_have_paid(ending):
            writing = self._journal.guard(lambda: ending_call(attempt, ending), writing)
        task = asyncio.create_task(writing)
        self._alone.add(task)
        task.add_done_callback(self._alone.discard)

    async def _write(self, pairs: Sequence[Pair]) -> None:
        for kind in (Done, Awaits, Failure, GiveBack):
            if alike := [(attempt, ending) for attempt, ending in pairs if isinstance(ending, kind)]:
                await self._offer_together(alike)

    async def _offer_together(self, pairs: Sequence[Pair]) -> None:
        """Write endings of one kind. What stands in the way of one, while the database answers, keeps no other."""
        pauses = Pauses()
        while True:
            sent_at = time.monotonic()
            try:
                results = await self._send(pairs)
                break
            except Exception as error:
                if _is_own(error, OWN_CLASSES):
                    await self._tell_apart(pairs, error)
                    return
                events.endings_delayed([attempt for attempt, _ in pairs], error)
                if self._answered_at() > sent_at:
                    for attempt, ending in pairs:
                        self._begin(attempt, ending, self._offer(attempt, ending))
                    return
                await asyncio.sleep(pauses.next())
        self._finish(pairs, results)

    async def _tell_apart(self, pairs: Sequence[Pair], error: Exception) -> None:
        """One of them cannot be written: it alone is written otherwise."""
        middle = len(pairs) // 2
        if middle:
            await self._offer_together(pairs[:middle])
            await self._offer_together(pairs[middle:])
        else:
            await self._offer_instead(*pairs[0], error)

    async def _offer(self, attempt: Attempt, ending: Ending) -> None:
        """Write one ending, until the database takes it."""
        pauses = Pauses()
        while True:
            try:
                results = await self._send([(attempt, ending)])
                break
            except Exception as error:
                # Nothing smaller can be said: whoever refuses this must act before anything can be written.
                if _is_own(error, OWN_CLASSES) and not _is_smallest(ending):
                    await self._offer_instead(attempt, ending, error)
                    return
                events.endings_delayed([attempt], error)
                await asyncio.sleep(pauses.next())
        self._finish([(attempt, ending)], results)

    async def _offer_instead(self, attempt: Attempt, ending: Ending, error: Exception) -> None:
        events.ending_not_written(attempt, error)
        await self._offer(attempt, _instead(ending, error))

    async def _send(self, pairs: Sequence[Pair]) -> dict[Handle, str]:
        match pairs[0][1]:
            case Done():
                return await self._queue.settle([(one, done) for one, done in pairs if isinstance(done, Done)])
            case Awaits():
                return await self._queue.await_answers(
                    [(one, asked) for one, asked in pairs if isinstance(asked, Awaits)]
                )
            case Failure():
                return await self._queue.fail([(one, failed) for one, failed in pairs if isinstance(failed, Failure)])
            case GiveBack():
                return await self._queue.give_back([(one, back) for one, back in pairs if isinstance(back, GiveBack)])

    async def _write_saving(self, attempt: Attempt, done: Done) -> None:
        """Settle and save in one transaction, away from all others: whatever its save does is its own affair."""
        pauses, tries, counted_at = Pauses(), 0, time.monotonic()
        async with self._places.turn() as turn:
            while True:
                try:
                    async with self._places.attempt(turn):
                        results = await self._settle_and_save(attempt, done, turn)
                    break
                except SaveOvertaken:
                    continue
                except Exception as error:
                    # What keeps it from being settled is none of its save's doing.
                    if answered := turn.has_begun and self._answered_at() > counted_at:
                        tries, counted_at = tries + 1, time.monotonic()
                    is_own = _is_own(error, OWN_CLASSES_OF_SAVES) and (answered or turn.verdict is None)
                    if is_own or tries >= SAVE_TRIES:
                        await self._offer_instead_of_saving(attempt, done, error, turn)
                        return
                    events.endings_delayed([attempt], error)
                    await asyncio.sleep(pauses.next())
        self._finish([(attempt, done)], results)

    async def _offer_instead_of_saving(self, attempt: Attempt, done: Done, error: Exception, turn: SaveTurn) -> None:
        if not turn.has_begun:
            await self._offer_instead(attempt, done, error)
            return
        if attempt.reserved:
            # After a commit of its own the attempt is settled, and only its money is not.
            await insist(lambda: self._queue.settle_saved(attempt, done))
        events.ending_not_written(attempt, error)
        await self._offer(attempt, _instead_of_saving(done, error))

    async def _settle_and_save(self, attempt: Attempt, done: Done, turn: SaveTurn) -> dict[Handle, str]:
        assert done.save is not None
        # Patiently: a save that found no connection has not failed.
        async with self._database.patient.transaction() as connection:
            results, transaction = await self._queue.settle_before_save(attempt, done, connection)
            if "settled" in results.values():
                await turn.run(done.save, connection)
                if await self._settle_saved(attempt, done, connection) != transaction:
                    raise SaveEndedTransaction
            return results

    async def _settle_saved(self, attempt: Attempt, done: Done, connection: Connection) -> str | None:
        try:
            return await self._queue.settle_saved(attempt, done, connection)
        except asyncpg.InFailedSQLTransactionError as error:
            raise SaveIgnoredError from error

    def _finish(self, pairs: Sequence[Pair], results: dict[Handle, str]) -> None:
        events.stale_claims(results)
        for attempt, ending in pairs:
            events.attempt_ended(attempt, ending)
            self._on_written(attempt)


def _may_have_paid(ending: Ending) -> bool:
    return bool(ending.cost_usd) or (isinstance(ending, Done) and ending.cost_usd is None)


def _is_own(error: Exception, own_classes: tuple[str, ...]) -> bool:
    """Whether an error is certainly about what was written, and not about the database at this moment."""
    if isinstance(error, DatabaseUnavailable | DatabaseUnusable):
        return isinstance(error.__cause__, asyncpg.PostgresError) and _is_own(error.__cause__, own_classes)
    if isinstance(error, asyncpg.PostgresError):
        return (error.sqlstate or "").startswith(own_classes)
    return True


def _is_smallest(ending: Ending) -> bool:
    return isinstance(ending, Failure) and ending.error_code == NOT_STORABLE


def _instead(ending: Ending, error: Exception) -> Failure:
    """What is written of an ending that cannot be: why, and what it cost as far as that can be said."""
    if isinstance(ending, Failure):
        # Its own words cannot be stored, so none are repeated.
        return Failure(
            Category.UNKNOWN,
            error=f"the phase failed, and its failure cannot be stored: {type(error).__name__}",
            error_type=type(error).__name__,
            error_code=NOT_STORABLE,
            cost_is_known=False,
        )
    if isinstance(error, InvalidInput | asyncpg.PostgresError):
        return not_storable(error, ending.cost_usd)
    return _with_cost(classify(error), ending.cost_usd)


def _instead_of_saving(done: Done, error: Exception) -> Failure:
    """The same where it was its save that failed, which may succeed another time."""
    failure = classify(error.error if isinstance(error, SaveEscaped) else error)
    if isinstance(error, StatementTimedOut):
        failure = replace(failure, error=f"in its save {failure.error}")
    return _with_cost(failure, done.cost_usd)


def _with_cost(failure: Failure, cost_usd: Decimal | None) -> Failure:
    return replace(failure, cost_is_known=False) if cost_usd is None else replace(failure, cost_usd=cost_usd)
