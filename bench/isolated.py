"""What isolation costs: an isolated call that does nothing, against the bare interpreter that it starts."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from statistics import median

from bench.figure import Figure
from bench.place import Place
from holdfast.engine.isolated_child import give_back
from holdfast.engine.isolation import run_isolated


async def measure(place: Place) -> list[Figure]:
    """Milliseconds from call to answer of both, in turn."""
    isolated, bare = [], []
    for _ in range(place.scale.isolated_calls):
        bare.append(await _timed(_start_bare))
        isolated.append(await _timed(_call_isolated))
    return [
        Figure(
            name="isolated call",
            measured=median(isolated),
            against=median(bare),
            unit="ms",
            baseline="python -I -c pass",
            demand="at most",
            bound=5.0,
        )
    ]


async def _call_isolated() -> None:
    await run_isolated(give_back, None)


async def _start_bare() -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-I", "-c", "pass")
    await process.wait()


async def _timed(call: Callable[[], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await call()
    return (time.perf_counter() - began) * 1000
