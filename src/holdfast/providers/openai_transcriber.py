"""Transcription by any server that speaks OpenAI's interface."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from holdfast.errors import PhaseError
from holdfast.providers.http import HttpApi
from holdfast.providers.recordings import check_size, explain_refusal, read_segment, wrong_shape
from holdfast.providers.transcriber import Segment, Transcript
from holdfast.providers.usage import plausible_seconds, recording_cost

# The interface names languages in words.
_LANGUAGES = {
    "arabic": "ar", "chinese": "zh", "czech": "cs", "danish": "da", "dutch": "nl", "english": "en", "finnish": "fi",
    "french": "fr", "german": "de", "greek": "el", "hebrew": "he", "hindi": "hi", "hungarian": "hu",
    "indonesian": "id", "italian": "it", "japanese": "ja", "korean": "ko", "norwegian": "no", "polish": "pl",
    "portuguese": "pt", "romanian": "ro", "russian": "ru", "spanish": "es", "swedish": "sv", "turkish": "tr",
    "ukrainian": "uk", "vietnamese": "vi",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TranscriptionModel:
    """A model that answers with timed segments, what a minute costs, and the largest file it takes."""

    name: str
    usd_per_minute: Decimal = Decimal(0)
    most_bytes: int = 25 << 20


class OpenAITranscriber:
    """Sends the recording whole, in one call. Tells no speakers apart."""

    def __init__(self, api: HttpApi, model: TranscriptionModel) -> None:
        self.name = model.name
        self.provider: str | None = api.provider
        self._api = api
        self._model = model

    async def transcribe(self, recording: Path, *, media_type: str, on_progress: Callable[[float], None]) -> Transcript:
        """An answer that makes no sense says what it cost, as far as it tells how long the recording is."""
        size = check_size(recording, most_bytes=self._model.most_bytes, provider=self._api.provider)
        with recording.open("rb") as file:
            try:
                answer = await self._api.post(
                    "audio/transcriptions",
                    data={
                        "model": self.name,
                        "response_format": "verbose_json",
                        "timestamp_granularities[]": "segment",
                    },
                    files={"file": (_file_name(recording, media_type), file, media_type)},
                )
            except PhaseError as error:
                explain_refusal(error)
                raise
        on_progress(1.0)
        return self._read(answer, size)

    def _read(self, answer: Mapping[str, Any], size: int) -> Transcript:
        seconds = plausible_seconds(answer.get("duration"), byte_count=size, otherwise=0.0)
        try:
            segments = tuple(filter(None, map(_segment, answer["segments"])))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            failure = wrong_shape(self.name)
            failure.cost_usd = recording_cost(seconds, self._model.usd_per_minute)
            raise failure from error
        seconds = seconds or max((segment.end for segment in segments), default=0.0)
        return Transcript(
            segments,
            seconds,
            language=_LANGUAGES.get(str(answer.get("language")).lower()),
            cost_usd=recording_cost(seconds, self._model.usd_per_minute),
        )


def _segment(row: Any) -> Segment | None:
    likelihood = row.get("avg_logprob")
    confidence = min(1.0, math.exp(likelihood)) if isinstance(likelihood, int | float) and likelihood <= 0 else None
    return read_segment(row, text=row["text"], speaker=None, confidence=confidence)


def _file_name(recording: Path, media_type: str) -> str:
    """The interface tells formats by the ending of the name, and stored files have none."""
    return f"recording.{_ENDINGS.get(media_type, recording.suffix.lstrip('.') or 'mp3')}"


_ENDINGS = {
    "audio/aac": "m4a", "audio/flac": "flac", "audio/mp4": "m4a", "audio/mpeg": "mp3", "audio/ogg": "ogg",
    "audio/wav": "wav", "audio/webm": "webm", "audio/x-flac": "flac", "audio/x-m4a": "m4a", "audio/x-wav": "wav",
    "video/mp4": "mp4", "video/mpeg": "mpeg", "video/webm": "webm",
}  # fmt: skip
