"""Who looks at the pages: whoever comes, on a server without keys; else who has shown a key."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import FastAPI, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.api.callers import Doorkeeper
from holdfast.api.problems import Refused
from holdfast.dashboard.live import Shared
from holdfast.dashboard.markup import tag
from holdfast.dashboard.viewer import Viewer

COOKIE = "holdfast_session"
IDLE_SECONDS = 12 * 3600.0
MOST_SESSIONS = 1000
FOR_PROGRAMS = ("/v1", "/healthz", "/readyz", "/metrics")
FOR_ANYONE = ("/_nicegui", "/dashboard/", "/login", "/favicon.ico")
# What the toolkit compiles in the browser needs eval and inline scripts; nothing may come from or go to elsewhere.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)


@dataclass(slots=True)
class Sessions:
    """Keys that were shown, under random names that browsers keep. Gone when the server restarts."""

    _keys: dict[str, tuple[str, float]] = field(default_factory=dict)

    def open(self, key: str) -> str:
        """A name for a session of whoever has this key."""
        now = time.monotonic()
        self._keys = {name: kept for name, kept in self._keys.items() if now - kept[1] < IDLE_SECONDS}
        while len(self._keys) >= MOST_SESSIONS:
            del self._keys[next(iter(self._keys))]
        name = secrets.token_urlsafe(32)
        self._keys[name] = (key, now)
        return name

    def key(self, name: str | None) -> str | None:
        """The key of a session that still lasts."""
        key, used_at = self._keys.get(name or "", (None, 0.0))
        if name is None or key is None or time.monotonic() - used_at >= IDLE_SECONDS:
            return None
        self._keys[name] = (key, time.monotonic())
        return key

    def close(self, name: str | None) -> None:
        """End a session."""
        self._keys.pop(name or "", None)


class ForViewers:
    """Shows pages only to those whom the doorkeeper lets in; others are sent to the door. Programs pass by."""

    def __init__(self, inner: ASGIApp, *, doorkeeper: Callable[[], Doorkeeper], sessions: Sessions) -> None:
        self._inner = inner
        self._doorkeeper = doorkeeper
        self._sessions = sessions
        self._shared = Shared()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(FOR_PROGRAMS):
            await self._inner(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Content-Security-Policy"] = POLICY
            await send(message)

        try:
            if not scope["path"].startswith(FOR_ANYONE):
                scope.setdefault("state", {})["viewer"] = await self._viewer(HTTPConnection(scope))
        except Refused:
            await RedirectResponse("/login", 303)(scope, receive, sending)
            return
        await self._inner(scope, receive, sending)

    async def _viewer(self, connection: HTTPConnection) -> Viewer:
        key = self._sessions.key(connection.cookies.get(COOKIE))
        return Viewer(await self._doorkeeper().admit(key, _address(connection)), self._shared)


def add_door(api: FastAPI, sessions: Sessions) -> None:
    """The page that asks for a key, and the way out."""

    @api.get("/login", include_in_schema=False)
    async def door() -> HTMLResponse:
        return HTMLResponse(_door())

    @api.post("/login", include_in_schema=False)
    async def enter(request: Request, key: Annotated[str, Form(max_length=200)]) -> Response:
        try:
            await api.state.doorkeeper.admit(key.strip(), _address(request))
        except Refused as refused:
            return HTMLResponse(_door(str(refused)), refused.status)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, sessions.open(key.strip()), httponly=True, samesite="strict", path="/")
        return answer

    @api.post("/logout", include_in_schema=False)
    async def leave(request: Request) -> Response:
        sessions.close(request.cookies.get(COOKIE))
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE, path="/")
        return answer


def _address(connection: HTTPConnection) -> str:
    return connection.client.host if connection.client else ""


def _door(complaint: str | None = None) -> str:
    form = tag(
        "form",
        tag("img", src="/dashboard/holdfast.svg", alt=""),
        tag("h1", "Holdfast"),
        tag("label", "Your key", for_="key"),
        tag(
            "input",
            id="key",
            name="key",
            type="password",
            autocomplete="current-password",
            autofocus=True,
            required=True,
        ),
        tag("p", complaint, class_="complaint", role="alert") if complaint else None,
        tag("button", "Enter", type="submit"),
        tag("p", "Keys are made with ", tag("code", "holdfast keys create"), "."),
        method="post",
        action="/login",
        class_="door",
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("title", "Holdfast"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("link", rel="stylesheet", href="/dashboard/holdfast.css"),
    )
    return "<!doctype html>" + tag("html", head, tag("body", form), lang="en")
