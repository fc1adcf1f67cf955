"""`holdfast worker`: runs phases until it is told to stop or, with --drain, until nothing is left to do."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.running import finish, opened, say_connections, settings_with_logs

if TYPE_CHECKING:
    from holdfast.engine.worker import Worker

Pipelines = Annotated[
    list[str] | None, typer.Option("--pipeline", help="Serve only this pipeline; repeat for several.")
]
Phases = Annotated[list[str] | None, typer.Option("--phase", help="Serve only this phase; repeat for several.")]
Concurrency = Annotated[
    int | None, typer.Option("--concurrency", min=1, max=10_000, help="How many jobs of each phase to run at once.")
]
Drain = Annotated[
    bool, typer.Option("--drain", help="End when nothing runs and all that is left waits for a moment to come.")
]
Grace = Annotated[
    float,
    typer.Option("--grace-seconds", min=0, max=86_400, help="How long running jobs may finish when told to stop."),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log successful attempts too.")]


def worker(
    pipeline: Pipelines = None,
    phase: Phases = None,
    concurrency: Concurrency = None,
    drain: Drain = False,
    grace_seconds: Grace = 30,
    verbose: Verbose = False,
) -> None:
    """Run the phases of the configured pipelines.

    Start as many as you like, on as many machines as you like. Each waits for a database that is down. Ctrl-C or
    SIGTERM: claim nothing more, finish what runs, give back uncharged what takes too long. A second one: give
    everything back at once.
    """

    async def work() -> None:
        from holdfast.app import open_for_worker

        settings = settings_with_logs(verbose=verbose)
        async with opened(open_for_worker, settings) as app:
            running = app.worker(
                only_pipelines=pipeline or (),
                only_phases=phase or (),
                concurrency=concurrency,
                grace_seconds=grace_seconds,
            )
            say_connections(app, listening=1)
            # Who only drains has no time for it: the doctor says the same.
            chores = () if drain else (app.report_sandbox_gaps(),)
            with beside(*chores, app.keep_clean(), app.keep_telling()):
                await _run(running, settings.lease_seconds, until_idle=drain)
        leave_what_hangs()

    finish(work)


@contextmanager
def beside(*chores: Coroutine[Any, Any, None]) -> Iterator[None]:
    """Have these done while the block runs."""
    tasks = [asyncio.create_task(chore) for chore in chores]
    for task in tasks:
        task.add_done_callback(_say_if_failed)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()


def _say_if_failed(chore: "asyncio.Task[None]") -> None:
    from holdfast.engine import events

    if not chore.cancelled() and (error := chore.exception()) is not None:
        events.chore_failed(error)


async def _run(running: "Worker", lease_seconds: float, *, until_idle: bool) -> None:
    from holdfast.cli.watchdog import watched

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, running.stop)
    with watched(running, lease_seconds):
        await running.run(until_idle=until_idle)


def leave_what_hangs() -> None:
    """End now if a handler ignores its cancellation: its job is given back, and the loop would wait for it for ever."""
    if len(asyncio.all_tasks()) > 1:
        sys.stdout.flush()
        os._exit(0)
