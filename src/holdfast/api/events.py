"""Server-sent events: what changes, as it changes.

Each event is the whole state and is named by its content: who comes back with the name of the last one they saw is told
as soon as it is another.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Annotated, TypeVar

from fastapi import APIRouter, Header, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from holdfast.api.callers import Call, Reader
from holdfast.api.jobs import Id
from holdfast.api.problems import Refused
from holdfast.api.shapes import JobWithAttempts
from holdfast.api.standing import Standing
from holdfast.errors import HoldfastError

LOOK_SECONDS = 1.0
SIGN_OF_LIFE_SECONDS = 15.0
ENDED = {"done", "deadletter", "cancelled"}

events = APIRouter(tags=["events"])

Seen = TypeVar("Seen", bound=BaseModel)

LastSeen = Annotated[str | None, Header(alias="Last-Event-ID", max_length=64)]


class EventStream(StreamingResponse):
    media_type = "text/event-stream"


@events.get("/jobs/{job_id}/events", response_class=EventStream)
async def of_job(request: Request, call: Reader, job_id: Id, last_seen: LastSeen = None) -> EventStream:
    """A job, whenever something about it changes, until it has ended."""
    first = JobWithAttempts.read(await call.app.overview.job(job_id))

    async def look() -> JobWithAttempts:
        return JobWithAttempts.read(await call.app.overview.job(job_id))

    return EventStream(
        _stream("job", first, _later(request, call, look), last_seen, until=lambda job: job.state in ENDED)
    )


@events.get("/events", response_class=EventStream)
async def of_queues(request: Request, call: Reader, last_seen: LastSeen = None) -> EventStream:
    """The queues, whenever they change."""

    async def look() -> Standing:
        return Standing.model_validate(await call.app.overview.processing_status())

    return EventStream(_stream("queues", await look(), _later(request, call, look), last_seen, until=lambda _: False))


def _later(request: Request, call: Call, look: Callable[[], Awaitable[Seen]]) -> Callable[[], Awaitable[Seen | None]]:
    """Wait a little, then look; None when the server ends, or this is not allowed or possible any more.

    Whoever comes back then is told why.
    """
    stop: asyncio.Event = request.app.state.stop

    async def later() -> Seen | None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await stop.wait()
                return None
        try:
            await call.recheck()
            return await look()
        except (Refused, HoldfastError):
            return None

    return later


async def _stream(
    kind: str,
    first: Seen,
    look: Callable[[], Awaitable[Seen | None]],
    last_seen: str | None,
    *,
    until: Callable[[Seen], bool],
) -> AsyncIterator[str]:
    current: Seen | None = first
    silent = 0.0
    while current is not None:
        data = current.model_dump_json()
        name = hashlib.sha256(data.encode()).hexdigest()[:16]
        if name != last_seen:
            yield f"event: {kind}\nid: {name}\ndata: {data}\n\n"
            last_seen, silent = name, 0.0
        elif silent >= SIGN_OF_LIFE_SECONDS:
            yield ": still here\n\n"
            silent = 0.0
        if until(current):
            return
        silent += LOOK_SECONDS
        current = await look()
