"""Puts the API together and serves it."""

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import uvicorn
from fastapi import FastAPI

from holdfast.api.callers import Doorkeeper
from holdfast.api.configs import configs
from holdfast.api.documents import documents
from holdfast.api.door import Door
from holdfast.api.events import events
from holdfast.api.failures import failures
from holdfast.api.files import files
from holdfast.api.guards import OnlyNeighbours, ShallowBodies, SmallBodies, SteadyBodies
from holdfast.api.headers import WithHeaders
from holdfast.api.hooks import Signers, hooks
from holdfast.api.jobs import jobs
from holdfast.api.machinery import machinery
from holdfast.api.money import money
from holdfast.api.problems import MEDIA_TYPE, Problem, answer_problems
from holdfast.api.questions import questions
from holdfast.api.recording import PREFIX, WithRecord
from holdfast.api.runs import runs
from holdfast.api.searching import searching
from holdfast.api.standing import probes, standing
from holdfast.api.stories import stories
from holdfast.api.webhooks import webhooks
from holdfast.app import App
from holdfast.errors import InvalidInput

GRACE_SECONDS = 5
ROUTERS = (
    documents,
    files,
    jobs,
    events,
    searching,
    standing,
    questions,
    failures,
    money,
    machinery,
    runs,
    webhooks,
    hooks,
    stories,
    configs,
)
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The call was wrong.", "content": {MEDIA_TYPE: {"schema": Problem.model_json_schema()}}},
    "503": {"description": "Not now.", "content": {MEDIA_TYPE: {"schema": Problem.model_json_schema()}}},
}


def build(app: App, *, asks_for_keys: bool) -> FastAPI:
    """The API over an open Holdfast. If it does not ask for keys, it will as soon as there is one."""
    door = Door(app.keys, is_closed=asks_for_keys)
    api = FastAPI(
        title="Holdfast",
        version=version("holdfast"),
        summary="Carries documents through phases until their knowledge can be searched.",
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{PREFIX}/openapi.json",
    )
    api.state.holdfast = app
    api.state.stop = asyncio.Event()
    api.state.doorkeeper = Doorkeeper(app, door)
    api.state.signers = Signers.of(app.settings)
    for router in ROUTERS:
        api.include_router(router, prefix=PREFIX, responses=PROBLEMS)
    api.include_router(probes, responses=PROBLEMS)
    answer_problems(api)
    api.add_middleware(ShallowBodies)
    api.add_middleware(SmallBodies)
    api.add_middleware(SteadyBodies)
    api.add_middleware(OnlyNeighbours, door=door)
    api.add_middleware(WithHeaders)
    api.add_middleware(WithRecord)
    return api


async def serve(
    app: App,
    listener: socket.socket,
    *,
    announce: Callable[[str], None],
    stop: asyncio.Event,
    dress: Callable[[FastAPI], None] = lambda api: None,
) -> None:
    """Serve on this socket until `stop` is set. Raises InvalidInput beyond loopback while there is no key.

    `dress` may put more in front of the API, such as pages.
    """
    host, port = listener.getsockname()[:2]
    has_keys = await app.keys.exist()
    if not has_keys and not is_loopback(host):
        raise InvalidInput(
            f"{host} can be reached from elsewhere, and there is no key: make one with `holdfast keys create`, "
            "or serve on 127.0.0.1"
        )
    await app.register()
    api = build(app, asks_for_keys=has_keys)
    api.state.stop = stop
    dress(api)
    config = uvicorn.Config(api, log_config=None, access_log=False, server_header=False)
    config.timeout_graceful_shutdown = GRACE_SECONDS
    server = _Server(config)
    stopping = asyncio.create_task(_end(server, stop))
    announce(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
    try:
        await server.serve(sockets=[listener])
    finally:
        stopping.cancel()


class _Server(uvicorn.Server):
    """Leaves signals to whoever serves more than this."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _end(server: uvicorn.Server, stop: asyncio.Event) -> None:
    await stop.wait()
    server.should_exit = True


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can reach it there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
