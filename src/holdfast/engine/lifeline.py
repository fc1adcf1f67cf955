"""Keeps a worker's claims alive and takes back what dead workers held, whatever the handlers do meanwhile."""

import asyncio
import os
import random
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from holdfast.engine import events
from holdfast.engine.attempt import Attempt
from holdfast.engine.queue import Handle, Lane, Queue
from holdfast.errors import DatabaseUnavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often a worker does what. It counts as lost after `lease_seconds` of silence."""

    heartbeat_seconds: float = 2.5
    lease_seconds: float = 10.0
    sweep_seconds: float = 2.0
    poll_seconds: float = 0.5
    drain_seconds: float = 30.0


class Claims(Protocol):
    """What a worker has claimed, as its lifeline sees it."""

    def held(self) -> Iterable[Attempt]:
        """Every attempt whose ending is not written yet."""

    def is_complete(self) -> bool:
        """Whether that is all; not while the answer to a claim is on its way."""

    def renew(self, tokens: Mapping[Handle, int]) -> None:
        """Go on under these tokens: the worker was taken to be lost, and is back."""

    def drop(self, handle: Handle, reason: str) -> None:
        """Break off an attempt whose claim is gone."""


class Lifeline:
    """A worker's standing with the database. Only the database's word ends a claim: being out of touch ends nothing."""

    def __init__(
        self,
        queue: Queue,
        claims: Claims,
        *,
        pulse: Queue,
        lanes: Callable[[], Sequence[Lane]],
        pace: Pace,
        before_sweep: Callable[[], Awaitable[None]],
    ) -> None:
        self._queue = queue
        self._pulse = pulse
        self._claims = claims
        self._lanes = lanes
        self._pace = pace
        self._before_sweep = before_sweep
        self._soon = asyncio.Event()
        self._sweeping = asyncio.Lock()
        # How many jobs its sweeps have let go on.
        self.moved = 0
        self.worker_id = ""
        self._beats = 0
        # When the last heartbeat that was answered was sent.
        self.answered_at = time.monotonic()

    @property
    def is_in_touch(self) -> bool:
        return time.monotonic() - self.answered_at < self._pace.lease_seconds / 2

    async def enlist(self) -> None:
        """Announce the worker under a new name."""
        worker_id = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        sent_at = time.monotonic()
        lanes = self._lanes()
        await self._queue.register_worker(worker_id, host=socket.gethostname(), pid=os.getpid(), lanes=lanes)
        self.worker_id, self.answered_at = worker_id, sent_at
        events.worker_started(worker_id, len(lanes))

    def beat_soon(self) -> None:
        """Do not wait for the next heartbeat: the database has just said something that one would clear up."""
        self._soon.set()

    async def beat(self) -> None:
        """Send heartbeats until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pace.heartbeat_seconds):
                    await self._soon.wait()
            self._soon.clear()
            try:
                await self._beat_once()
            except DatabaseUnavailable:
                pass  # who wants something of the database says so
            except Exception as error:
                events.lifeline_failed("heartbeat", error)

    async def _beat_once(self) -> None:
        sent_at = time.monotonic()
        self._beats += 1
        pulse = await self._pulse.heartbeat(
            self.worker_id,
            self._claims.held(),
            names_all=self._claims.is_complete(),
            lease_seconds=self._pace.lease_seconds,
            number=self._beats,
        )
        if not pulse.alive:
            await self.enlist()
            return
        self.answered_at = sent_at
        if pulse.renewed:
            events.claims_renewed(self.worker_id, len(pulse.renewed))
            self._claims.renew(pulse.renewed)
        for handle in pulse.stale:
            self._claims.drop(handle, "its claim is gone")

    async def sweep(self) -> None:
        """Sweep now and then until cancelled, and at once while there is more to take back."""
        while True:
            await asyncio.sleep(self._pace.sweep_seconds * random.uniform(0.5, 1.0))
            try:
                while (await self.sweep_once())["more"]:
                    pass
                await self._queue.advance_trials()
            except DatabaseUnavailable:
                pass
            except Exception as error:
                events.lifeline_failed("sweep", error)

    async def sweep_once(self) -> Mapping[str, Any]:
        """Take back what dead workers held, some hundred jobs of it, and say what that was."""
        async with self._sweeping:
            # First what dead neighbours left on this disk: a job whose result is here is not to be claimed again.
            await self._before_sweep()
            swept = await self._queue.sweep(self._pace.lease_seconds, self.worker_id)
            self.moved += len(swept["lost_jobs"]) + len(swept["timed_out_jobs"]) + swept["rerouted_jobs"]
        events.swept(swept["lost_jobs"], swept["timed_out_jobs"])
        return swept

    async def stop(self) -> None:
        """Say goodbye; what is still claimed goes back."""
        await self._queue.stop_worker(self.worker_id)
