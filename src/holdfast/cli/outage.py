"""Waits for a database that is away, and tells the user."""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from holdfast.engine.patience import insist
from holdfast.errors import DatabaseUnavailable

Value = TypeVar("Value")

# What is over in a moment, such as two who were in each other's way, is nobody's concern.
BLINK_SECONDS = 1.0


class Outage:
    """A patience that says once for each outage that there is one."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._answered_at = time.monotonic()
        self._is_told = False

    async def __call__(self, call: Callable[[], Awaitable[Value]]) -> Value:
        """Call until the database answers: for what may be repeated although an earlier call had arrived."""
        asked_at = time.monotonic()

        def failed(error: DatabaseUnavailable) -> None:
            if time.monotonic() - max(asked_at, self._answered_at) >= BLINK_SECONDS and not self._is_told:
                self._is_told = True
                self._tell(" ".join(str(error).split()))

        value = await insist(call, tell=failed)
        self._answered_at, self._is_told = time.monotonic(), False
        return value
