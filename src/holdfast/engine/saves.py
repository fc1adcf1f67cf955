"""Runs the saves of finished attempts. One that hangs, or ends what is not its own, harms only its own job."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from holdfast.db.connection import Connection
from holdfast.engine.pipeline import Save
from holdfast.errors import PhaseError, TimedOut

# How long a save may take, without the time in which it waits for a connection.
SAVE_SECONDS = 30.0
# One that takes longer than this needs one of the places for long ones.
SHORT_SECONDS = 2.0
# How long one that is broken off may take to notice.
BREAK_OFF_SECONDS = 2.0


class SaveOvertaken(Exception):
    """It took longer than a short one while all places for long ones were taken: it is repeated when one is free."""


class SaveEscaped(Exception):
    """Carries what is no Exception, such as SystemExit, out of a save: the event loop would end with it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(repr(error))
        self.error = error


class SaveEndedTransaction(PhaseError):
    """It ended the transaction that was to settle its attempt too."""

    def __init__(self) -> None:
        super().__init__(
            "its save ended the transaction that records the attempt: leave out commit and rollback; what must be "
            "undone by itself goes into a nested connection.transaction()"
        )


class SaveIgnoredError(PhaseError):
    """It caught an error of the database and went on, in a transaction that can only be rolled back."""

    def __init__(self) -> None:
        super().__init__(
            "its save caught an error of the database and went on, but after one nothing of its transaction can be "
            "stored: let the error through, or put what may fail into a nested connection.transaction()"
        )


class SavePlaces:
    """Who may keep a connection for long. One of the connections always stays with saves that are short."""

    def __init__(self, connections: int) -> None:
        self._places = asyncio.Semaphore(max(connections - 1, 1))
        # How many saves have turned out to be long and are not written yet.
        self.long_ones = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator["SaveTurn"]:
        """For one save, from its first try to its last."""
        turn = SaveTurn(self._places)
        try:
            yield turn
        finally:
            self.long_ones -= turn.is_long

    @asynccontextmanager
    async def attempt(self, turn: "SaveTurn") -> AsyncIterator[None]:
        """For one try of it: waits for a place if it is known to be long."""
        turn.has_begun, turn.verdict = False, None
        try:
            if turn.is_long:
                await turn.take_place()
            yield
        except Exception:
            if turn.verdict is None:
                raise
            if isinstance(turn.verdict, SaveOvertaken):
                self.long_ones += not turn.is_long
                turn.is_long = True
            raise turn.verdict from None
        finally:
            turn.leave_place()


class SaveTurn:
    """One save, however often it is tried. Of its last try, `verdict` says why it was broken off."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._has_place = False
        self.is_long = False
        self.has_begun = False
        self.verdict: Exception | None = None

    async def take_place(self) -> None:
        await self._places.acquire()
        self._has_place = True

    def leave_place(self) -> None:
        if self._has_place:
            self._has_place = False
            self._places.release()

    async def run(self, save: Save, connection: Connection) -> None:
        """Call a save and wait for it, but not for longer than it may take."""
        self.has_begun = True
        task = asyncio.create_task(_outcome(save, connection))
        try:
            if not await _ends(task, SHORT_SECONDS):
                if not self._has_place and not self._places.locked():
                    await self.take_place()
                if self._has_place:
                    await _ends(task, SAVE_SECONDS - SHORT_SECONDS)
            if not task.done():
                self.verdict = _took_too_long() if self._has_place else SaveOvertaken()
        finally:
            await _break_off(task, connection)
        if self.verdict is not None:
            raise self.verdict
        error = task.result()
        # PostgreSQL says at the end of every statement whether a transaction is open.
        if not connection.is_closed() and not connection.is_in_transaction():
            raise SaveEndedTransaction from error
        if error is not None:
            raise error if isinstance(error, Exception) else SaveEscaped(error)


def _took_too_long() -> PhaseError:
    return TimedOut(
        f"its save did not return within {SAVE_SECONDS:g} s: let it only write what the handler has ready",
        details={"threshold_seconds": SAVE_SECONDS},
    )


async def _outcome(save: Save, connection: Connection) -> BaseException | None:
    """What a save raised, whatever that is."""
    try:
        await save(connection)
    except BaseException as error:
        return error
    return None


async def _ends(task: "asyncio.Task[BaseException | None]", seconds: float) -> bool:
    return bool((await asyncio.wait({task}, timeout=seconds))[0])


async def _break_off(task: "asyncio.Task[BaseException | None]", connection: Connection) -> None:
    """End one that still runs. Where it ignores that, it goes on without its connection."""
    if task.done():
        return
    task.cancel()
    if not await _ends(task, BREAK_OFF_SECONDS):
        connection.terminate()
