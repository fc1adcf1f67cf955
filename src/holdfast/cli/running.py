"""Runs a command's question or act and turns what can go wrong into one clear line and an exit code."""

import asyncio
import json
import math
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, TypeVar

import typer

from holdfast.errors import HoldfastError, UsageError
from holdfast.event_loop import EventLoop

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.settings import Settings

Value = TypeVar("Value")

WORK_FAILED = 1
CALL_WAS_WRONG = 2
INTERRUPTED = 130

SAY_SECONDS = 30.0


def run(ask: "Callable[[App], Awaitable[Value]]", *, as_json: bool = False) -> Value:
    """Connect, ask, disconnect. Rendering comes after, so that a slow reader holds no connection."""
    # The driver, the settings and the engine take longer to import than `--help` may take.
    from holdfast.app import open_app
    from holdfast.settings import load_settings

    async def connected() -> Value:
        async with open_app(load_settings()) as app:
            return await ask(app)

    return finish(connected, as_json=as_json)


def finish(work: Callable[[], Awaitable[Value]], *, as_json: bool = False) -> Value:
    """Run it to its end on an event loop, reporting expected errors."""

    async def awaited() -> Value:
        return await work()

    with reported(as_json=as_json), asyncio.Runner(loop_factory=EventLoop) as runner:
        return runner.run(awaited())


@contextmanager
def reported(*, as_json: bool = False) -> Iterator[None]:
    """Expected errors go to stderr without a traceback and end the command: 2 the call was wrong, 1 the work failed."""
    try:
        yield
    except HoldfastError as error:
        complain(str(error), code=_code(error), as_json=as_json)
        raise typer.Exit(CALL_WAS_WRONG if isinstance(error, UsageError) else WORK_FAILED) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def settings_with_logs(*, verbose: bool) -> "Settings":
    """The settings, with logs set up as they say: for commands that go on for long."""
    import logging

    from holdfast.cli.logs import configure_logs
    from holdfast.settings import load_settings

    settings = load_settings()
    configure_logs(settings.log_format, level=logging.DEBUG if verbose else logging.INFO)
    return settings


@asynccontextmanager
async def opened(
    open_app: "Callable[[Settings], AbstractAsyncContextManager[App]]", settings: "Settings"
) -> "AsyncIterator[App]":
    """Open it as soon as the database answers: for commands that go on for long.

    What someone must mend first, such as a wrong password, ends it at once.
    """
    from holdfast.db.pauses import Pauses
    from holdfast.engine import events
    from holdfast.errors import DatabaseUnavailable

    async with AsyncExitStack() as stack:
        pauses, began_at, said_at = Pauses(), time.monotonic(), -math.inf
        while True:
            try:
                app = await stack.enter_async_context(open_app(settings))
                break
            except DatabaseUnavailable as error:
                if time.monotonic() - said_at >= SAY_SECONDS:
                    said_at = time.monotonic()
                    events.database_awaited(error, said_at - began_at)
            await asyncio.sleep(pauses.next())
        yield app


def say_connections(app: "App", *, listening: int) -> None:
    """Say how many connections this process may use, once nothing keeps it from beginning."""
    from holdfast.engine import events

    events.database_connected(pool=app.settings.pool_size, listening=listening if app.database.listens else 0)


def complain(message: str, *, code: str, as_json: bool = False) -> None:
    """Say on stderr what is wrong; stdout stays clean."""
    if as_json:
        print(json.dumps({"error": {"code": code, "message": message}}), file=sys.stderr)
    else:
        print(f"error: {message}", file=sys.stderr)


def actor() -> str:
    """Under which name the audit log keeps what this command does."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as containers have
        return f"uid {os.getuid()}"


def _code(error: HoldfastError) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).lower()
