"""A pipeline whose handlers do what their document's name says, for workers that the command line starts."""

import asyncio
import re
import time
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.errors import CorruptInput


async def extract(attempt: Attempt) -> Done:
    if attempt.document.source_name == "torn":
        raise CorruptInput("the cross-reference table is damaged")
    if _first_time(attempt):
        await _misbehave(attempt)
    return Done({"pages": 3})


async def _misbehave(attempt: Attempt) -> None:
    match attempt.document.source_name:
        case "patient":
            while not _mark(attempt, "end").exists():
                await asyncio.sleep(0.05)
        case "slow":
            await asyncio.sleep(120)
        case "blocking":
            _block()
        case "stubborn":
            for _ in range(120):
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(1)


def _block() -> None:
    time.sleep(120)


def embed(attempt: Attempt) -> Done:
    """Runs in a thread; a regular expression that backtracks keeps the interpreter's lock all the same."""
    if attempt.document.source_name == "backtracking" and _first_time(attempt):
        re.match(r"(a+)+$", "a" * 60 + "b")
    return Done(cost_usd=Decimal("0.01"))


def _first_time(attempt: Attempt) -> bool:
    """Leaves a mark in the file that the document names, and says whether there was none."""
    if "mark" not in attempt.document.metadata:
        return False
    mark = _mark(attempt, attempt.phase)
    first = not mark.exists()
    mark.touch()
    return first


def _mark(attempt: Attempt, what: str) -> Path:
    return Path(str(attempt.document.metadata["mark"])).with_suffix(f".{what}")


reports = Pipeline(
    "reports",
    (
        Phase(name="extract", handler=extract, done="parsed", component="parse"),
        Phase(
            name="embed",
            handler=embed,
            done="complete",
            provider="openai",
            budget="enrichment",
            estimate_usd=Decimal("0.01"),
        ),
    ),
    starts="uploaded",
)
not_a_pipeline = 5
