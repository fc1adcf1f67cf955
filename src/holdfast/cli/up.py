"""`holdfast up`: the HTTP API and a worker in one process."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Annotated, Any

import typer

from holdfast.cli.running import finish, opened, say_connections, settings_with_logs
from holdfast.cli.serve import Host, Port, announce, dress, listening
from holdfast.cli.worker import Concurrency, Grace, beside, leave_what_hangs

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log successful attempts and calls that only read too.")]


def up(
    host: Host = "127.0.0.1",
    port: Port = 8000,
    concurrency: Concurrency = None,
    grace_seconds: Grace = 30,
    verbose: Verbose = False,
) -> None:
    """Serve the HTTP API and work, in one process.

    What `holdfast serve` and `holdfast worker` do, for one machine. Start more workers beside it at any time. Ctrl-C or
    SIGTERM: take nothing more, finish what runs, give back uncharged what takes too long. A second one: give everything
    back at once.
    """

    async def work() -> None:
        from holdfast.api.server import serve as serve_api
        from holdfast.app import open_for_worker
        from holdfast.cli.watchdog import watched

        settings = settings_with_logs(verbose=verbose)
        stop = asyncio.Event()
        with listening(host, port) as listener:
            async with opened(open_for_worker, settings) as app:
                running = app.worker(concurrency=concurrency, grace_seconds=grace_seconds)

                def end() -> None:
                    stop.set()
                    running.stop()

                def begun(url: str) -> None:
                    say_connections(app, listening=1)
                    announce(url)

                for number in (signal.SIGTERM, signal.SIGINT):
                    asyncio.get_running_loop().add_signal_handler(number, end)
                with (
                    beside(app.report_sandbox_gaps(), app.keep_clean(), app.keep_telling()),
                    watched(running, settings.lease_seconds),
                ):
                    serving = serve_api(app, listener, announce=begun, stop=stop, dress=dress)
                    await _until_one_fails(serving, running.run())
        leave_what_hangs()

    finish(work)


async def _until_one_fails(*parts: Coroutine[Any, Any, None]) -> None:
    """Run them side by side to their ends; one that fails ends the others, and its error is what is told."""
    try:
        async with asyncio.TaskGroup() as group:
            for part in parts:
                group.create_task(part)
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
