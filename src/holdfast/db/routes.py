"""The two ways to one database: for work, perhaps through a pooler, and directly for what needs a session."""

import asyncio
import logging
import secrets
from contextlib import suppress
from dataclasses import dataclass

from holdfast.db.opening import Opener, RawConnection
from holdfast.db.refusals import translate_connecting
from holdfast.errors import DatabaseUnusable, HoldfastError

# A busy server answers and notifies late: only one that never notifies is refused, and none is waited for without end.
ANSWER_SECONDS = 30.0
NOTIFICATION_SECONDS = 5.0
NOTIFICATIONS = 3

_log = logging.getLogger("holdfast")


@dataclass(frozen=True, slots=True)
class Routes:
    """How to open connections: `work` for transactions; `direct` past the pooler, where the settings name that way."""

    work: Opener
    direct: Opener | None

    @property
    def session(self) -> Opener:
        """For what needs a session: migrations and listening."""
        return self.direct or self.work

    @property
    def listens(self) -> bool:
        """Whether notifications arrive."""
        return self.direct is not None or not self.work.behind_pooler

    async def check(self) -> None:
        """Raise DatabaseUnusable when the direct way leads to another database, or to a pooler that delivers nothing.

        Proved by what any login may do: a lock that one way takes the other finds taken, and what one says it hears.
        Raises NoConnection when one of them does not answer in time.
        """
        if self.direct is None:
            return
        one = await self.work.open_first()
        try:
            other = await self.direct.open_first()
            try:
                await _check_same_database(one, other)
                await _check_hears(one, other)
            except HoldfastError:
                raise
            except Exception as error:
                raise translate_connecting(error) from error
            finally:
                other.terminate()
        finally:
            one.terminate()


async def _check_same_database(one: RawConnection, other: RawConnection) -> None:
    """After an error both are inside a transaction: it ends with them, a rollback might wait for ever."""
    key = secrets.randbits(62)
    transactions = one.transaction(), other.transaction()
    async with asyncio.timeout(ANSWER_SECONDS):
        for transaction in transactions:
            await transaction.start()
        await one.execute("select pg_advisory_xact_lock($1)", key)
        if await other.fetchval("select pg_try_advisory_xact_lock($1)", key):
            raise DatabaseUnusable(
                "HOLDFAST_DATABASE_DIRECT_URL and HOLDFAST_DATABASE_URL lead to different databases: "
                "name the same database of the same server in both"
            )
        for transaction in transactions:
            await transaction.rollback()


async def _check_hears(one: RawConnection, other: RawConnection) -> None:
    heard = asyncio.Event()
    channel = f"holdfast_{secrets.token_hex(8)}"
    async with asyncio.timeout(ANSWER_SECONDS):
        await other.add_listener(channel, lambda *_: heard.set())
    for _ in range(NOTIFICATIONS):
        async with asyncio.timeout(ANSWER_SECONDS):
            await one.execute(f"notify {channel}")
        with suppress(TimeoutError):
            async with asyncio.timeout(NOTIFICATION_SECONDS):
                await heard.wait()
                return
        _log.warning(
            "listening.silent", extra={"seconds": NOTIFICATION_SECONDS, "setting": "HOLDFAST_DATABASE_DIRECT_URL"}
        )
    raise DatabaseUnusable(
        "HOLDFAST_DATABASE_DIRECT_URL leads through a pooler that delivers no notifications: "
        "name the server itself or a pooler in session mode"
    )
