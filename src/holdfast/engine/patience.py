"""Waits for a database that is away, without coming back in step with everyone else."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from holdfast.db.pauses import Pauses
from holdfast.engine import events
from holdfast.errors import DatabaseUnavailable

Value = TypeVar("Value")


class Patience(Protocol):
    """How long whoever asks is ready to wait for an answer."""

    async def __call__(self, call: Callable[[], Awaitable[Value]]) -> Value:
        """What the call gives, however often it was made for that."""


async def ask_once(call: Callable[[], Awaitable[Value]]) -> Value:
    """Call, and leave it to the caller what a database that is away means."""
    return await call()


async def insist(
    call: Callable[[], Awaitable[Value]], *, tell: Callable[[DatabaseUnavailable], None] = events.database_unavailable
) -> Value:
    """Call until the database answers. Only for calls that may be repeated although an earlier one had arrived."""
    pauses = Pauses()
    while True:
        try:
            return await call()
        except DatabaseUnavailable as error:
            tell(error)
            await asyncio.sleep(pauses.next())
