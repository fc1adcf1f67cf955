"""What looking costs: how soon pages answer while jobs are worked off, what that takes from the worker, and whether a
long history slows them."""

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import nan
from statistics import median
from typing import Literal

import httpx2

from bench.drive import drain
from bench.figure import Figure
from bench.place import Place, connected
from bench.viewer import PAGES
from tests.million import fill

VIEWERS = 20
END_SECONDS = 20.0
OPENINGS = 5


async def measure(place: Place) -> list[Figure]:
    """Work that waits, as for a model, must not suffer; work that does nothing shows what the viewers take."""
    return [
        *await _under_load(place, "waiting-drain", "work that waits 50 ms", demand="at least"),
        *await _under_load(place, "drain", "work that does nothing", demand=None),
        *await _with_history(place),
    ]


async def _under_load(
    place: Place, way: Literal["drain", "waiting-drain"], what: str, *, demand: Literal["at least"] | None
) -> list[Figure]:
    alone, watched, answers = [], [], []
    async with place.database(f"viewing_{way}") as dsn, _dashboard(dsn) as url:
        for _ in range(place.scale.rounds):
            alone.append((await drain(dsn, way, jobs=place.scale.viewed_jobs)).phases_per_second)
            async with _viewers(url) as took:
                watched.append((await drain(dsn, way, jobs=place.scale.viewed_jobs)).phases_per_second)
            answers += took
    return [
        Figure(
            name=f"worker, {VIEWERS} viewers, {what}",
            measured=median(watched),
            against=median(alone),
            unit="phases/s",
            baseline="nobody looks",
            demand=demand,
            bound=0.95,
        ),
        Figure(
            name=f"pages to {VIEWERS} viewers, {what}",
            measured=median(answers or [nan]),  # a short run may end before anybody has an answer
            against=300,
            unit="ms",
            baseline="goal, median",
            demand="at most" if demand else None,
        ),
    ]


async def _with_history(place: Place) -> list[Figure]:
    """The slowest page over a long history, against the same pages over none."""
    async with place.database("viewing_full") as full, place.database("viewing_empty") as empty:
        async with connected(full) as connection:
            await fill(connection, finished_jobs=place.scale.finished_jobs)
        async with _dashboard(empty) as url:
            quick = await _openings(url)
        async with _dashboard(full) as url:
            slow = await _openings(url)
    return [
        Figure(
            name=f"{page} over {place.scale.finished_jobs:,} jobs ({quick[page]:.0f} ms over none)",
            measured=slow[page],
            against=1000,
            unit="ms",
            baseline="goal",
            demand="at most",
        )
        for page in PAGES
    ]


async def _openings(url: str) -> dict[str, float]:
    """Milliseconds that each page takes to answer, the median of a few openings."""
    took: dict[str, float] = {}
    async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
        for page in PAGES:
            times = []
            for _ in range(OPENINGS):
                began = time.perf_counter()
                (await client.get(page)).raise_for_status()
                times.append((time.perf_counter() - began) * 1000)
            took[page] = median(times)
    return took


@asynccontextmanager
async def _dashboard(dsn: str) -> AsyncIterator[str]:
    """Where `holdfast serve` serves this database."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-home-") as home:
        server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "holdfast.cli", "serve", "--port", "0"),
            env={
                **plain,
                "HOLDFAST_DATABASE_URL": dsn,
                "HOLDFAST_HOME": home,
                "HOLDFAST_API_CALLS_PER_MINUTE": "1000000",
            },
            stderr=asyncio.subprocess.PIPE,
        )
        assert server.stderr is not None
        try:
            while not (line := await server.stderr.readline()).startswith(b"serving on "):
                if not line:
                    raise RuntimeError("the server did not start")
            yield line.decode().removeprefix("serving on ").strip()
        finally:
            server.send_signal(signal.SIGTERM)
            async with asyncio.timeout(END_SECONDS):
                await server.communicate()


@asynccontextmanager
async def _viewers(url: str) -> AsyncIterator[list[float]]:
    """People who look until the block ends; then the list holds what each answer took, in milliseconds."""
    took: list[float] = []
    viewers = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.viewer", url, str(VIEWERS)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    await asyncio.sleep(VIEWERS * 0.2 + 2)  # until everyone has a page open
    yield took
    said, _ = await viewers.communicate(b"")
    if viewers.returncode != 0:
        raise RuntimeError("the viewers could not look: see their output above")
    took += json.loads(said)
