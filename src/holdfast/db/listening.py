"""Listens for notifications on a connection of its own, and comes back whenever that breaks."""

import asyncio
import logging
from collections.abc import Callable

from holdfast.db.opening import Opener, RawConnection
from holdfast.db.pauses import Pauses

Listener = Callable[[str], None]

FIRST_WAIT_SECONDS = 0.2
LONGEST_WAIT_SECONDS = 10.0
CHECK_SECONDS = 15.0

_log = logging.getLogger("holdfast")


async def keep_listening(opener: Opener, channel: str, callback: Listener) -> None:
    """Call back with each payload until cancelled. Whatever ends a connection, another one is opened."""
    pauses = Pauses(FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS)
    while True:
        try:
            connection = await opener.open_again()
            try:
                lost = await _listen(connection, channel, callback)
                pauses = Pauses(FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS)
                await _until_lost(connection, lost)
            finally:
                connection.terminate()
        except Exception as error:
            # Work is found by polling meanwhile: nothing that goes wrong here is worth a process.
            _log.warning(
                "listening.interrupted",
                extra={"error": str(error) or type(error).__name__, "error_type": type(error).__name__},
            )
        await asyncio.sleep(pauses.next())


async def _listen(connection: RawConnection, channel: str, callback: Listener) -> asyncio.Event:
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _: lost.set())
    await connection.add_listener(channel, lambda _connection, _pid, _channel, payload: callback(str(payload)))
    return lost


async def _until_lost(connection: RawConnection, lost: asyncio.Event) -> None:
    while not lost.is_set():
        try:
            await asyncio.wait_for(lost.wait(), CHECK_SECONDS)
        except TimeoutError:
            # A silent partition never ends the connection: only asking finds out.
            await connection.execute("select 1")
