"""The event loop of our commands: what keeps claims alive never waits for a thread that a handler has taken.

asyncio looks up host names in the threads that everything else uses, too. An object store that hangs fills them, and
then no connection to the database could be opened.
"""

import asyncio
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

Value = TypeVar("Value")

THREADS = 4

_reserved = ThreadPoolExecutor(THREADS, thread_name_prefix="holdfast-lifeline")
_executor: ContextVar[ThreadPoolExecutor | None] = ContextVar("holdfast_executor", default=None)


class EventLoop(asyncio.SelectorEventLoop):
    """Looks up names in reserved threads for those who ask within `reserved_threads`."""

    async def getaddrinfo(
        self,
        host: bytes | str | None,
        port: bytes | str | int | None,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[Any]:
        """What socket.getaddrinfo answers, without blocking the loop."""
        look_up = partial(socket.getaddrinfo, host, port, family, type, proto, flags)
        return await self.run_in_executor(_executor.get(), look_up)


@contextmanager
def reserved_threads() -> Iterator[None]:
    """Name look-ups in this block use threads that nobody else has."""
    token = _executor.set(_reserved)
    try:
        yield
    finally:
        _executor.reset(token)


async def in_reserved_thread(call: Callable[[], Value]) -> Value:
    """What the call returns, made in one of those threads."""
    return await asyncio.get_running_loop().run_in_executor(_reserved, call)
