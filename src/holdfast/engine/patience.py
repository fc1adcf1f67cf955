"""Waits for a database that is away, without coming back in step with everyone else."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from holdfast.engine import events
from holdfast.errors import DatabaseUnavailable

Value = TypeVar("Value")

FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 2.0


async def insist(call: Callable[[], Awaitable[Value]]) -> Value:
    """Call until the database answers. Only for calls that may be repeated although an earlier one had arrived."""
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            return await call()
        except DatabaseUnavailable as error:
            events.database_unavailable(error)
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
