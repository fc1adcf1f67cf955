"""One event for each call: what an operator looks for when a product says that something did not work."""

import logging
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.engine import events

READS = frozenset({"GET", "HEAD", "OPTIONS"})
PREFIX = "/v1"


class WithRecord:
    """Says of every call who made it, what it was for, how it ended and how long it took.

    Never what was asked or answered: the route's template stands for the address.
    """

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        began = time.monotonic()
        status = 500  # which is what is answered outside of here if nothing is answered inside

        async def sending(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._inner(scope, receive, sending)
        finally:
            events.call_answered(_level(scope["method"], status), **_fields(scope, status, time.monotonic() - began))


def _level(method: str, status: int) -> int:
    """What changes something or goes wrong is for everyone who reads logs; reading is for those who want it all."""
    if status >= 500:
        return logging.WARNING
    return logging.INFO if status >= 400 or method not in READS else logging.DEBUG


def _fields(scope: Scope, status: int, seconds: float) -> dict[str, Any]:
    return {
        "method": scope["method"],
        "route": _template(scope),
        "status": status,
        "milliseconds": round(seconds * 1000, 1),
        "caller": scope.get("state", {}).get("caller"),
    }


def _template(scope: Scope) -> str | None:
    """The address with its values left out. What leads nowhere has none: strangers may call anything."""
    path: str | None = getattr(scope.get("route"), "path", None)
    if path is None:
        return None
    # The framework's newer versions leave out what a router was included under.
    is_short = scope["path"].startswith(f"{PREFIX}/") and not path.startswith(f"{PREFIX}/")
    return f"{PREFIX}{path}" if is_short else path
