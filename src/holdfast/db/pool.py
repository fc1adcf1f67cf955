"""A few connections for many borrowers. Where the server allows no more, those that are open go round."""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Literal, TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from holdfast.db.opening import Opener, RawConnection
from holdfast.db.pauses import LONGEST_SECONDS, Pauses
from holdfast.db.translation import translate
from holdfast.errors import ConnectionsUsedUp, DatabaseUnavailable, DatabaseUnusable, NoConnection

if TYPE_CHECKING:
    Slot: TypeAlias = asyncpg.Pool[asyncpg.Record]

Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"
Rank: TypeAlias = Literal["vital", "urgent", "usual"]

CLOSE_SECONDS = 5.0
# What nobody uses is given up: on a small server another process may be waiting for it.
IDLE_SECONDS = 30.0
# A login that worked before and is refused now is tried again at this pace, for all borrowers: servers lock out who
# tries often.
REFUSED_SECONDS = (0.5, 5.0)


class ConnectionPool:
    """Slots for connections, each a pool of the driver's own with room for one.

    The driver's pool for several would hand out empty slots while open connections lie idle, and fail where the server
    has none left. Here an open connection is preferred, and who finds none waits in line for one, or for the moment to
    try opening another.

    `reserved` slots are left to urgent borrowers, who also come first: what a worker has finished must not wait for the
    transactions of its phases. Of two or more, one is left to vital borrowers: nor must a heartbeat wait for endings
    that someone's lock keeps.
    """

    def __init__(self, slots: "list[Slot]", *, reserved: int = 0) -> None:
        self._free = list(slots)
        # How many there are for usual borrowers.
        self.shared = len(slots) - reserved
        self._lines: dict[Rank, deque[asyncio.Future[Slot]]] = {"vital": deque(), "urgent": deque(), "usual": deque()}
        self._spared: dict[Rank, int] = {"vital": 0, "urgent": max(reserved - 1, 0), "usual": reserved}
        # When the server last did what a borrower asked for.
        self.answered_at = -math.inf
        self._pauses = Pauses()
        self._full_until = 0.0
        self._logins = Pauses(*REFUSED_SECONDS)
        self._refusal: NoConnection | None = None
        self._refused_until = 0.0

    @asynccontextmanager
    async def borrow(self, seconds: float | None, *, rank: Rank = "usual") -> AsyncIterator[Connection]:
        """One connection while the block runs; NoConnection when there is none to be had for so many seconds."""
        slot, connection = await self._take_within(seconds, rank)
        try:
            yield connection
            self.answered_at = time.monotonic()
        except Exception as error:
            # Waiting for a silent server to confirm the cancellation would double the silence, and a connection that
            # broke in the middle of an answer must not meet its next borrower.
            if isinstance(translate(error), DatabaseUnavailable):
                # One that the pool itself saw closing is already out of our hands, and says so.
                with suppress(asyncpg.InterfaceError):
                    connection.terminate()
            raise
        finally:
            try:
                # A silent server confirms no cancellation. Whatever goes wrong, the driver has dropped the connection,
                # and how the block ended is what counts.
                with suppress(Exception):
                    await slot.release(connection, timeout=seconds)
            finally:
                self._put(slot)

    async def _take_within(self, seconds: float | None, rank: Rank) -> "tuple[Slot, Connection]":
        refusal = NoConnection(
            "no connection came free in time: check that the database answers, or raise HOLDFAST_POOL_SIZE"
        )
        try:
            async with asyncio.timeout(seconds):
                while True:
                    slot = await self._next_slot(rank)
                    try:
                        return slot, await self._acquire(slot)
                    except ConnectionsUsedUp as error:
                        refusal = error
        except TimeoutError:
            raise refusal from None

    async def _acquire(self, slot: "Slot") -> Connection:
        is_empty = not slot.get_size()
        try:
            if is_empty and self._refusal and time.monotonic() < self._refused_until:
                raise NoConnection(str(self._refusal)) from None
            connection: Connection = await slot.acquire()
        except BaseException as error:
            if isinstance(error, ConnectionsUsedUp):
                self._full_until = time.monotonic() + self._pauses.next()
            if isinstance(error, NoConnection) and isinstance(error.__cause__, DatabaseUnusable):
                self._refusal, self._refused_until = error, time.monotonic() + self._logins.next()
            self._put(slot)
            raise
        if is_empty:
            self._pauses, self._logins, self._refusal = Pauses(), Pauses(*REFUSED_SECONDS), None
        return connection

    async def _next_slot(self, rank: Rank) -> "Slot":
        """A slot with an open connection or, when the server may have room for one more, an empty one."""
        line, spared = self._lines[rank], self._spared[rank]
        if not line and (slot := self._pick(spared)):
            return slot
        turn: asyncio.Future[Slot] = asyncio.get_running_loop().create_future()
        line.append(turn)
        try:
            while not turn.done():
                await asyncio.wait({turn}, timeout=self._seconds_to_next_look())
                if not turn.done() and (slot := self._pick(spared)):
                    return slot
            return turn.result()
        except BaseException:
            if turn.done():
                self._put(turn.result())
            raise
        finally:
            if turn in line:
                line.remove(turn)

    def _pick(self, spared: int) -> "Slot | None":
        if len(self._free) <= spared:
            return None
        # The one that was used last: those that nobody needs grow old, and are closed.
        slot = next((slot for slot in reversed(self._free) if slot.get_size()), None)
        if slot is None and not self._is_full:
            slot = self._free[-1]
        if slot is not None:
            self._free.remove(slot)
        return slot

    def _put(self, slot: "Slot") -> None:
        served = (line for rank, line in self._lines.items() if line and len(self._free) >= self._spared[rank])
        if (line := next(served, None)) and (slot.get_size() or not self._is_full):
            line.popleft().set_result(slot)
        else:
            self._free.append(slot)

    @property
    def _is_full(self) -> bool:
        """Whether the server has just said that it has no connection left."""
        return time.monotonic() < self._full_until

    def _seconds_to_next_look(self) -> float:
        return max(self._full_until - time.monotonic(), 0.0) if self._free and self._is_full else LONGEST_SECONDS


@asynccontextmanager
async def open_pool(opener: Opener, size: int, *, reserved: int = 0) -> AsyncIterator[ConnectionPool]:
    """A pool of that many connections, `reserved` of them for urgent borrowers; none is opened before it is needed."""
    slots = [
        asyncpg.create_pool(
            connect=opener.open_for_pool,
            reset=_keep_session,
            min_size=0,
            max_size=1,
            max_inactive_connection_lifetime=IDLE_SECONDS,
            record_class=asyncpg.Record,
        )
        for _ in range(size)
    ]
    for slot in slots:
        await slot
    try:
        yield ConnectionPool(slots, reserved=reserved)
    finally:
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.gather(*(slot.close() for slot in slots))
        except Exception:
            # A database that is gone cannot say goodbye; the connections are dropped either way.
            for slot in slots:
                slot.terminate()


async def _keep_session(_: RawConnection) -> None:
    """Nothing outlives its transaction here, so nothing is reset: that would cost a round trip per call."""
