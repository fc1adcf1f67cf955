"""The dashboard as viewers meet it: `holdfast up` in a process of its own, and a real browser before it.

The process is forked from one that has imported what it needs; tests/cli has it started as users start it.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from holdfast.app import App, open_app
from holdfast.settings import Settings
from holdfast.testing import KEY, StandIn
from holdfast.testing.answering import DIMENSION
from tests.conftest import RUN_HOME
from tests.dashboard.chromium import browsing, find_chromium, looking

END_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard that is served, and Holdfast over the same database."""

    url: str
    app: App
    home: Path


@asynccontextmanager
async def dashboard_of(
    program: Path, dsn: str, home: Path, command: str = "up", **variables: str
) -> AsyncIterator[Dashboard]:
    """Serve the dashboard, with a worker (`up`) or without one (`serve`), until the block ends."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    process = await asyncio.create_subprocess_exec(
        *(program, command, "--port", "0"),
        env={**plain, "HOLDFAST_DATABASE_URL": dsn, "HOLDFAST_HOME": str(home), **variables},
        cwd=home,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    heard: list[bytes] = []
    try:
        while not (line := await process.stderr.readline()).startswith(b"serving on "):
            heard.append(line)
            assert line, b"".join(heard).decode()
        listening = asyncio.create_task(process.stderr.read())
        async with open_app(Settings(database_url=dsn, home=home)) as app:
            yield Dashboard(line.decode().removeprefix("serving on ").strip(), app, home)
    finally:
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
        await listening


def embedding_by(provider: StandIn) -> dict[str, str]:
    """The variables with which documents are embedded by this provider."""
    return {
        "HOLDFAST_EMBEDDER": "openai",
        "HOLDFAST_EMBEDDER_BASE_URL": provider.base_url,
        "HOLDFAST_EMBEDDER_API_KEY": KEY,
        "HOLDFAST_EMBEDDER_DIMENSION": str(DIMENSION),
    }


@pytest.fixture
async def dashboard(ready_holdfast: Path, dsn: str, tmp_path: Path) -> AsyncIterator[Dashboard]:
    """With a worker beside it."""
    async with dashboard_of(ready_holdfast, dsn, tmp_path) as served:
        yield served


@pytest.fixture
async def browser(request: pytest.FixtureRequest) -> AsyncIterator[Browser]:
    async with browsing(find_chromium(request.config.stash[RUN_HOME])) as running:
        yield running


@pytest.fixture
async def page(browser: Browser, dashboard: Dashboard) -> AsyncIterator[Page]:
    """A viewer on a laptop, in daylight."""
    async with looking(browser, dashboard.url) as page:
        yield page
