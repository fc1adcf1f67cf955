"""`holdfast serve`: the HTTP API."""

import sys
from typing import Annotated

import typer

from holdfast.cli.running import finish

Host = Annotated[str, typer.Option("--host", help="Where to listen. Beyond loopback there must be a key.")]
Port = Annotated[int, typer.Option("--port", min=1, max=65535, help="The port to listen on.")]


def serve(host: Host = "127.0.0.1", port: Port = 8000) -> None:
    """Serve the HTTP API.

    Its description is at /v1/openapi.json. On loopback it needs no key as long as none was made; elsewhere it does.
    Documents are only taken in here: run `holdfast worker` beside it. Ctrl-C or SIGTERM ends it.
    """

    async def work() -> None:
        from holdfast.api.server import serve as serve_api
        from holdfast.app import open_app
        from holdfast.cli.logs import configure_logs
        from holdfast.settings import load_settings

        settings = load_settings()
        configure_logs(settings.log_format)
        async with open_app(settings) as app:
            print(f"serving on http://{host}:{port}", file=sys.stderr, flush=True)
            await serve_api(app, host=host, port=port)

    finish(work)
