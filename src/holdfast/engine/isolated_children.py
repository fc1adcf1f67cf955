"""Isolated children that are kept warm: each serves many documents, one at a time and all of one key."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType

from holdfast.engine import isolated_scratch
from holdfast.engine.isolated_lease import Child
from holdfast.engine.isolation import Limits, describe_isolation
from holdfast.errors import UsageError

# A process that spent the processor time of so many calls is replaced, however few it served.
_FULL_CALLS = 10


class Children:
    """At most `at_most` children, leased or waiting for their next lease. Open it with `async with`.

    A child serves `uses` leases, all of one key, such as the organisation whose documents it sees. It is replaced
    when a call breaks it or leaves something running or too much memory in use, ended when nobody leased it for
    `idle_seconds` or another key needs its place, and all are killed when the block ends. Where the system allows
    ("files" in `describe_isolation`), they do not see the folders `hidden` that exist when they start, nor the
    scratch directories of others. Folders of Python's packages inside a hidden one stay readable. `granted` is what
    `describe_isolation` would return, as soon as one of them has worked.
    """

    def __init__(
        self,
        *,
        limits: Limits,
        at_most: int,
        uses: int = 200,
        idle_seconds: float = 20,
        hidden: Sequence[Path] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._limits = limits
        self._cell = limits.cell(calls=min(uses, _FULL_CALLS), hidden=tuple(hidden), environment=environment)
        self._at_most = at_most
        self._uses = uses
        self._idle_seconds = idle_seconds
        self._room = asyncio.Semaphore(at_most)
        self._leases = 0
        self._leased: list[Child] = []
        self._idle: list[Child] = []
        self._is_open = False
        self.granted: tuple[str, ...] | None = None
        self._tidying: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Children":
        """Also removes the scratch directories that killed workers left."""
        await asyncio.to_thread(isolated_scratch.sweep)
        self._is_open = True
        self._tidying = asyncio.create_task(self._tidy())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        async with AsyncExitStack() as stack:
            for child in self._idle:
                stack.push_async_callback(child.close)
            for child in self._leased:
                stack.push_async_callback(child.stop)  # the rest is done when it is given back
            self._idle.clear()
            if self._tidying is not None:
                self._tidying.cancel()
                await asyncio.wait({self._tidying})

    @asynccontextmanager
    async def child(self, key: str) -> AsyncIterator[Child]:
        """Lease a child that serves this key only; waits while `at_most` are leased."""
        async with self._room:
            self._leases += 1
            try:
                child = await self._take(key)
                try:
                    yield child
                finally:
                    await self._give_back(child)
            finally:
                self._leases -= 1

    async def describe_isolation(self) -> tuple[str, ...]:
        """Return what the system grants to these children, as found out by one more of them."""
        return await describe_isolation(self._cell)

    async def _take(self, key: str) -> Child:
        child = self._pick(key)
        if child is None:
            while self._leases + len(self._idle) > self._at_most:
                await self._idle.pop(0).close()
            if not self._is_open:
                raise UsageError("these children are closed: open them with `async with` and lease within the block")
            child = Child(key, cell=self._cell, limits=self._limits)
        try:
            child.begin_lease()
        except BaseException:
            await child.close()
            raise
        self._leased.append(child)
        return child

    def _pick(self, key: str) -> Child | None:
        """Return the one of this key that worked last, if any lives."""
        child = next((child for child in reversed(self._idle) if child.key == key and child.is_warm), None)
        if child is not None:
            self._idle.remove(child)
        return child

    async def _give_back(self, child: Child) -> None:
        self.granted = self.granted or child.granted
        try:
            if child.is_warm and child.leases < self._uses:
                with suppress(OSError):
                    await child.end_lease()
                    self._keep(child)
        finally:
            self._leased.remove(child)
            if child not in self._idle:
                await child.close()

    def _keep(self, child: Child) -> None:
        if self._is_open and child.is_warm:
            child.idle_since = asyncio.get_running_loop().time()
            self._idle.append(child)

    async def _tidy(self) -> None:
        """End, for as long as the block lasts, what nobody needed for long enough."""
        while True:
            await asyncio.sleep(self._idle_seconds / 2)
            oldest = asyncio.get_running_loop().time() - self._idle_seconds
            while self._idle and (self._idle[0].idle_since <= oldest or not self._idle[0].is_warm):
                await self._idle.pop(0).close()
