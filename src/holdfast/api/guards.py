"""What a call must get past before it is looked at, whoever sends it."""

import asyncio
import time
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.api.door import Door
from holdfast.api.problems import problem_answer
from holdfast.errors import HoldfastError
from holdfast.json_codec import TooDeep, check_depth

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
MOST_BODY_BYTES = 1 << 20
SLOW_SECONDS = 30.0
LEAST_BYTES_A_SECOND = 1_000
UPLOADS = ("POST", "/v1/documents")


class OnlyNeighbours:
    """While there are no keys: refuses what a stranger's page has its visitor's browser send to this machine.

    Such a page calls us under a name of its own, or says in `Origin` where it comes from.
    """

    def __init__(self, inner: ASGIApp, door: Door) -> None:
        self._inner = inner
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or not _is_foreign(Headers(scope=scope)) or await self._asks_for_keys():
            await self._inner(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            answer = problem_answer(403, "foreign_page", "without keys only programs of this machine may call")
            await answer(scope, receive, send)

    async def _asks_for_keys(self) -> bool:
        try:
            return await self._door.is_closed()
        except HoldfastError:  # nobody can tell now
            return False


class SmallBodies:
    """Bodies are read whole before anybody asks for a key, so they must be small. Uploads have a limit of their own."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        came = 0

        async def receiving() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            _check_size(came)
            return message

        is_upload = (scope.get("method"), scope.get("path")) == UPLOADS
        await self._inner(scope, receive if is_upload else receiving, send)


class ShallowBodies:
    """Refuses JSON that is nested deeper than any value may be, before anything reads it.

    It is kept until it is complete, so no more of it than any body may have: also where files may be larger.
    """

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        came = bytearray()

        async def receiving() -> Message:
            message = await receive()
            came.extend(message.get("body", b""))
            _check_size(len(came))
            if message["type"] == "http.request" and not message.get("more_body", False):
                try:
                    check_depth(came.decode(errors="replace"))
                except TooDeep as error:
                    raise HTTPException(422, f"the body is {error}") from None
            return message

        is_json = scope["type"] == "http" and _is_json(Headers(scope=scope).get("content-type", ""))
        await self._inner(scope, receiving if is_json else receive, send)


class SteadyBodies:
    """Refuses a body that trickles in: whoever sends a byte a second keeps a place that others need."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, came, complete = time.monotonic(), 0, False

        async def receiving() -> Message:
            nonlocal came, complete
            if complete:  # what is waited for now is that the caller goes away
                return await receive()
            try:
                async with asyncio.timeout(SLOW_SECONDS):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "the body does not come: send it at once") from None
            came += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            spent = time.monotonic() - began
            if not complete and spent > SLOW_SECONDS and came < spent * LEAST_BYTES_A_SECOND:
                raise HTTPException(408, f"the body comes with less than {LEAST_BYTES_A_SECOND:,} bytes a second")
            return message

        await self._inner(scope, receiving if scope["type"] == "http" else receive, send)


def _check_size(came: int) -> None:
    if came > MOST_BODY_BYTES:
        raise HTTPException(413, f"the body has more than {MOST_BODY_BYTES:,} bytes: send less at once")


def _is_json(content_type: str) -> bool:
    """By the media type alone: what follows it, such as the boundary of a form, may hold any word."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def _is_foreign(headers: Headers) -> bool:
    host, origin = headers.get("host", ""), headers.get("origin")
    return _name(f"//{host}") not in LOCAL_NAMES or (origin is not None and _name(origin) not in LOCAL_NAMES)


def _name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
