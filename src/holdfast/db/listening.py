"""Listens for notifications on a connection of its own, and comes back whenever that breaks."""

import asyncio
import random
from collections.abc import Callable

from holdfast.db.opening import Opener, RawConnection
from holdfast.db.translation import translate
from holdfast.errors import DatabaseUnavailable

Listener = Callable[[str], None]

FIRST_WAIT_SECONDS = 0.2
LONGEST_WAIT_SECONDS = 10.0
CHECK_SECONDS = 15.0


async def keep_listening(opener: Opener, channel: str, callback: Listener) -> None:
    """Call back with each payload until cancelled. Anything but a lost connection ends it with that error."""
    if opener.behind_pooler:
        await asyncio.Event().wait()
    wait_seconds = FIRST_WAIT_SECONDS
    while True:
        try:
            connection = await opener.open()
        except DatabaseUnavailable:
            # Jitter: many workers must not knock together at a server that just came back.
            await asyncio.sleep(wait_seconds * random.uniform(0.5, 1.5))
            wait_seconds = min(wait_seconds * 2, LONGEST_WAIT_SECONDS)
            continue
        wait_seconds = FIRST_WAIT_SECONDS
        try:
            await _listen_until_lost(connection, channel, callback)
        finally:
            connection.terminate()


async def _listen_until_lost(connection: RawConnection, channel: str, callback: Listener) -> None:
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _: lost.set())
    try:
        await connection.add_listener(channel, lambda _connection, _pid, _channel, payload: callback(str(payload)))
        while not lost.is_set():
            try:
                await asyncio.wait_for(lost.wait(), CHECK_SECONDS)
            except TimeoutError:
                # A silent partition never ends the connection: only asking finds out.
                await connection.execute("select 1")
    except Exception as error:
        if not isinstance(translate(error), DatabaseUnavailable):
            raise
