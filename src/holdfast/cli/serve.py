"""`holdfast serve`: the HTTP API and the dashboard."""

import asyncio
import importlib.util
import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.running import finish, opened, say_connections, settings_with_logs
from holdfast.cli.worker import beside
from holdfast.errors import InvalidInput
from holdfast.extras import install

if TYPE_CHECKING:
    from fastapi import FastAPI

Host = Annotated[str, typer.Option("--host", help="Where to listen. Beyond loopback there must be a key.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="The port to listen on; 0: any that is free.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log calls that only read too.")]


def serve(host: Host = "127.0.0.1", port: Port = 8000, verbose: Verbose = False) -> None:
    """Serve the HTTP API.

    Its description is at /v1/openapi.json. On loopback it needs no key as long as none was made; elsewhere it does.
    Documents are only taken in here: run `holdfast worker` beside it, or `holdfast up` instead. Ctrl-C or SIGTERM
    ends it.
    """

    async def work() -> None:
        from holdfast.api.server import serve as serve_api
        from holdfast.app import open_app

        settings = settings_with_logs(verbose=verbose)
        stop = asyncio.Event()
        with listening(host, port) as listener:
            async with opened(open_app, settings) as app:

                def begun(url: str) -> None:
                    say_connections(app, listening=0)
                    announce(url)

                for number in (signal.SIGTERM, signal.SIGINT):
                    asyncio.get_running_loop().add_signal_handler(number, stop.set)
                with beside(app.keep_telling()):
                    await serve_api(app, listener, announce=begun, stop=stop, dress=dress)

    finish(work)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there, or InvalidInput."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address, family=family)
    except OSError as error:
        why = str(error.strerror or error).partition(" (")[0]
        raise InvalidInput(f"cannot listen on {host} port {port} ({why}): name another --port or --host") from error


def dress(api: "FastAPI") -> None:
    """Put the dashboard in front of the API, where its extra is installed."""
    if importlib.util.find_spec("nicegui") is None:
        print(f"without a dashboard: run {install('dashboard')} to have one", file=sys.stderr)
        return
    home: Path = api.state.holdfast.settings.home
    os.environ.setdefault("NICEGUI_STORAGE_PATH", str(home / "dashboard"))  # not where it happens to be started
    from holdfast.dashboard.mounting import mount

    mount(api)


def announce(url: str) -> None:
    """Say where to call."""
    print(f"serving on {url}", file=sys.stderr, flush=True)
