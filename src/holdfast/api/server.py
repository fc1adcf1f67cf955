"""Puts the API together and serves it."""

import ipaddress
from importlib.metadata import version
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.api.callers import Doorkeeper
from holdfast.api.documents import documents
from holdfast.api.events import events
from holdfast.api.jobs import jobs
from holdfast.api.problems import MEDIA_TYPE, Problem, answer_problems
from holdfast.api.searching import searching
from holdfast.api.standing import probes, standing
from holdfast.app import App
from holdfast.errors import InvalidInput

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
LOCAL_NAMES = ["127.0.0.1", "localhost", "[::1]", "::1"]
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The call was wrong.", "content": {MEDIA_TYPE: {"schema": Problem.model_json_schema()}}},
    "503": {"description": "Not now.", "content": {MEDIA_TYPE: {"schema": Problem.model_json_schema()}}},
}


def build(app: App, *, asks_for_keys: bool) -> FastAPI:
    """The API over an open Holdfast."""
    api = FastAPI(
        title="Holdfast",
        version=version("holdfast"),
        summary="Carries documents through phases until their knowledge can be searched.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
    )
    api.state.holdfast = app
    api.state.doorkeeper = Doorkeeper(app, asks_for_keys, app.settings.api_calls_per_minute)
    for router in (documents, jobs, events, searching, standing):
        api.include_router(router, prefix="/v1", responses=PROBLEMS)
    api.include_router(probes, responses=PROBLEMS)
    answer_problems(api)
    if not asks_for_keys:
        # A page of a stranger could have its visitor's browser call us under another name for this machine.
        api.add_middleware(TrustedHostMiddleware, allowed_hosts=LOCAL_NAMES)
    api.add_middleware(_WithHeaders)
    return api


async def serve(app: App, *, host: str, port: int) -> None:
    """Serve until told to stop. Raises InvalidInput beyond loopback while there is no key."""
    has_keys = any(key.revoked_at is None for key in await app.keys.all())
    if not has_keys and not is_loopback(host):
        raise InvalidInput(
            f"{host} can be reached from elsewhere, and there is no key: make one with `holdfast keys create`, "
            "or serve on 127.0.0.1"
        )
    await app.register()
    api = build(app, asks_for_keys=has_keys)
    config = uvicorn.Config(api, host=host, port=port, log_config=None, access_log=False, server_header=False)
    await uvicorn.Server(config).serve()


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can reach it there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _WithHeaders:
    """Adds to every answer what keeps browsers from doing more with it than they should. Streams pass as they come."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._inner(scope, receive, sending if scope["type"] == "http" else send)
