"""What transcribers over HTTP have in common: reading timed answers, and knowing when a recording is to blame."""

import asyncio
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from holdfast.errors import OPERATOR_MENDS, AnswerNotJson, Category, CorruptInput, PhaseError, TooLarge
from holdfast.providers.transcriber import Segment

_READ_BYTES = 1 << 20
# How providers say that they cannot make sense of a recording; none of them has a code for it.
_BLAMES = ("corrupt", "invalid file format", "could not be decoded", "unsupported data", "audio file is too short")


def check_size(recording: Path, *, most_bytes: int, provider: str) -> int:
    """Return the recording's size, or raise TooLarge before anything is sent."""
    size = recording.stat().st_size
    if size > most_bytes:
        text = f"the recording has {size:,} bytes and {provider} takes {most_bytes:,}"
        raise TooLarge(
            f"{text}: split it, or use another transcriber", error_code="RECORDING_TOO_LARGE", details=OPERATOR_MENDS
        )
    return size


def explain_refusal(error: PhaseError) -> None:
    """Raise CorruptInput if what the provider says is that it cannot read this recording."""
    message = str(error.details.get("message", "")).lower()
    refused = error.category is Category.UNKNOWN and error.details.get("status") in (400, 415, 422)
    if refused and any(blame in message for blame in _BLAMES):
        raise CorruptInput(str(error), error_code="UNREADABLE_RECORDING", details=error.details) from error


def read_segment(row: Any, *, text: object, speaker: str | None, confidence: float | None) -> Segment | None:
    """A row with `start`, `end` and its text; None if nothing was said. Raises ValueError for what cannot be."""
    start, end = float(row["start"]), float(row["end"])
    if not isinstance(text, str) or not (math.isfinite(start) and math.isfinite(end) and 0 <= start <= end):
        raise ValueError(f"a stretch of speech from {start} to {end}")
    words = text.replace("\0", "").encode(errors="replace").decode().strip()
    return Segment(start, end, words, speaker, confidence) if words else None


def read_share(value: object) -> float | None:
    """A confidence from 0 to 1, or None if it is no such number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)


async def stream_file(path: Path) -> AsyncIterator[bytes]:
    """The file's bytes, read outside the event loop."""
    with await asyncio.to_thread(path.open, "rb") as file:
        while part := await asyncio.to_thread(file.read, _READ_BYTES):
            yield part


def wrong_shape(name: str) -> AnswerNotJson:
    """For an answer that is JSON but no transcript."""
    text = f"{name} answered with JSON that is no timed transcript: check model and address in the settings"
    return AnswerNotJson(text, error_code="WRONG_SCHEMA")
