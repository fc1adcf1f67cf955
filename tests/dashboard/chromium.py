"""A real browser: Debian's Chromium, installed by the test set-up where that is possible."""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright, expect

from tests.once import once

MUST_RUN = "HOLDFAST_TEST_BROWSER"
INSTALL_SECONDS = 600
LAPTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
PATIENCE_MILLISECONDS = 60_000

expect.set_options(timeout=PATIENCE_MILLISECONDS)


def find_chromium(run_home: Path) -> str:
    """Where Chromium is. Without one, and no way to install one, the test is skipped with the reason.

    With HOLDFAST_TEST_BROWSER=1, as in CI, it fails instead.
    """
    with once(run_home / "chromium") as first:
        if first and shutil.which("chromium") is None and os.geteuid() == 0 and shutil.which("apt-get"):
            _install()
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        reason = "no Chromium here, and none can be installed without root and apt: install the package chromium"
        pytest.fail(reason) if os.environ.get(MUST_RUN) else pytest.skip(reason)
    return path


def _install() -> None:
    for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        subprocess.run(["apt-get", "--quiet", *command], timeout=INSTALL_SECONDS, capture_output=True, check=False)


@asynccontextmanager
async def browsing(executable: str) -> AsyncIterator[Browser]:
    """A browser until the block ends."""
    async with async_playwright() as playwright:
        # A sandbox inside the sandbox of a container's root is refused; the pages are our own.
        browser = await playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def looking(
    browser: Browser, url: str, *, size: dict[str, int] = LAPTOP, dark: bool = False
) -> AsyncIterator[Page]:
    """A viewer's page. Whatever the browser complains of, or asks of another host, fails the test at the end."""
    context = await browser.new_context(
        base_url=url, viewport=size, color_scheme="dark" if dark else "light", timezone_id="Europe/Lisbon"
    )
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_MILLISECONDS)
    complaints: list[str] = []
    host = urlsplit(url).netloc

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: _only(host, asked.url, complaints))
    try:
        yield page
    finally:
        await context.close()
    assert complaints == []


def _only(host: str, url: str, complaints: list[str]) -> None:
    asked = urlsplit(url)
    if asked.scheme in ("http", "https", "ws", "wss") and asked.netloc != host:
        complaints.append(f"asked another host: {url}")
