"""Transcription by Deepgram, which tells speakers apart."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from holdfast.errors import PhaseError
from holdfast.providers.http import Endpoint, HttpApi
from holdfast.providers.recordings import (
    check_size,
    explain_refusal,
    read_segment,
    read_share,
    stream_file,
    wrong_shape,
)
from holdfast.providers.transcriber import Segment, Transcript
from holdfast.providers.usage import plausible_seconds, recording_cost


@dataclass(frozen=True, slots=True)
class DeepgramModel:
    """A model, what a minute costs, and the largest file it takes."""

    name: str = "nova-3"
    usd_per_minute: Decimal = Decimal(0)
    most_bytes: int = 2_000_000_000


def deepgram_api(endpoint: Endpoint) -> HttpApi:
    """Connections in the way Deepgram wants its key."""
    return HttpApi(endpoint, scheme="Token")


class DeepgramTranscriber:
    """Streams the recording, in one call. A segment is what one speaker says without a longer pause."""

    def __init__(self, api: HttpApi, model: DeepgramModel) -> None:
        self.name = model.name
        self.provider: str | None = api.provider
        self._api = api
        self._model = model

    async def transcribe(self, recording: Path, *, media_type: str, on_progress: Callable[[float], None]) -> Transcript:
        """An answer that makes no sense says what it cost, as far as it tells how long the recording is."""
        size = check_size(recording, most_bytes=self._model.most_bytes, provider=self._api.provider)
        wanted = ("utterances", "diarize", "punctuate", "smart_format", "detect_language")
        try:
            answer = await self._api.post(
                "listen",
                params={"model": self.name} | dict.fromkeys(wanted, "true"),
                content=stream_file(recording),
                headers={"Content-Type": media_type, "Content-Length": str(size)},
            )
        except PhaseError as error:
            explain_refusal(error)
            raise
        on_progress(1.0)
        return self._read(answer, size)

    def _read(self, answer: Mapping[str, Any], size: int) -> Transcript:
        metadata = answer.get("metadata")
        reported = metadata.get("duration") if isinstance(metadata, Mapping) else None
        seconds = plausible_seconds(reported, byte_count=size, otherwise=0.0)
        try:
            results = answer["results"]
            segments = tuple(filter(None, map(_segment, results["utterances"])))
            language = results["channels"][0].get("detected_language")
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
            failure = wrong_shape(self.name)
            failure.cost_usd = recording_cost(seconds, self._model.usd_per_minute)
            raise failure from error
        seconds = seconds or max((segment.end for segment in segments), default=0.0)
        return Transcript(
            segments,
            seconds,
            language=language if isinstance(language, str) else None,
            cost_usd=recording_cost(seconds, self._model.usd_per_minute),
        )


def _segment(row: Any) -> Segment | None:
    number = row.get("speaker")
    return read_segment(
        row,
        text=row["transcript"],
        speaker=f"Speaker {number + 1}" if isinstance(number, int) else None,
        confidence=read_share(row.get("confidence")),
    )
