"""What a transcriber promises: a recording in, timed text out."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of speech, in seconds from the beginning."""

    start: float
    end: float
    text: str
    speaker: str | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """All that was said, in order."""

    segments: tuple[Segment, ...]
    seconds: float
    language: str | None = None
    cost_usd: Decimal = Decimal(0)


class Transcriber(Protocol):
    """Turns a recording into text. Raises our errors only. `provider` is what a hold names, None when it is local."""

    name: str
    provider: str | None

    async def transcribe(
        self, recording: Path, *, media_type: str, on_progress: Callable[[float], None]
    ) -> Transcript: ...
