"""Turns a recording into the standard form by way of a transcriber, which is never asked twice for the same one."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from holdfast.engine.attempt import Attempt
from holdfast.errors import OPERATOR_MENDS, EmptyText, UnsupportedFormat
from holdfast.extract.readers.cues import Cue, write_cues
from holdfast.extract.reading import Reading
from holdfast.extras import install
from holdfast.providers.answers import Answers, answer_key
from holdfast.providers.asking import Asking, Question
from holdfast.providers.transcriber import Segment, Transcriber, Transcript
from holdfast.standard import Carried

_LOW_CONFIDENCE = 0.5


@dataclass(frozen=True, slots=True)
class Transcription:
    """What a transcriber heard, and what that cost now: nothing if it was remembered."""

    transcript: Transcript
    cost_usd: Decimal


class Recordings:
    """Transcribes recordings. Without a transcriber every recording is an unsupported format."""

    def __init__(self, transcriber: Transcriber | None, answers: Answers) -> None:
        self._transcriber = transcriber
        self._answers = answers

    def check_supported(self, carried: Carried) -> Transcriber:
        """The transcriber; UnsupportedFormat if there is none."""
        if self._transcriber is None:
            raise UnsupportedFormat(
                f"{carried.name} is a recording ({carried.media_type}): run {install('audio')}, "
                "or set HOLDFAST_TRANSCRIBER to a service",
                error_code="NO_TRANSCRIBER",
                details=OPERATOR_MENDS,
            )
        return self._transcriber

    async def transcribe(
        self, attempt: Attempt, carried: Carried, *, recording: Path, on_progress: Callable[[float], None]
    ) -> Transcription:
        """What is said in the recording. An answer is kept before anything else can fail."""
        transcriber = self.check_supported(carried)
        key = answer_key(transcriber.provider or "local", transcriber.name, {"recording": carried.original.hash})

        async def hear() -> tuple[Any, Decimal]:
            transcript = await transcriber.transcribe(recording, media_type=carried.media_type, on_progress=on_progress)
            return _to_json(transcript), transcript.cost_usd

        asking = Asking(self._answers, attempt)
        asked = await asking.ask({key: Question(hear)})
        return Transcription(_from_json(asked.answers[key]), asked.cost_usd)


def write_transcript(transcript: Transcript, reading: Reading, *, name: str, extractor: str) -> None:
    """Write paragraphs with the times and speakers of what is said; EmptyText if nothing is."""
    if not any(segment.text.strip() for segment in transcript.segments):
        raise EmptyText(f"nothing is said in {name}, as far as {extractor} can hear", error_code="NO_SPEECH")
    reading.extractor = extractor
    reading.language = transcript.language
    reading.has_headings = False
    reading.facts["seconds"] = round(transcript.seconds)
    write_cues((_cue(segment) for segment in transcript.segments), reading)
    doubtful = [s for s in transcript.segments if s.confidence is not None and s.confidence < _LOW_CONFIDENCE]
    if doubtful:
        total = sum(segment.end - segment.start for segment in doubtful)
        passages = "1 passage" if len(doubtful) == 1 else f"{len(doubtful):,} passages"
        reading.warn("LOW_CONFIDENCE", f"{passages}, {total:.0f} s in all, hard to understand")


def _cue(segment: Segment) -> Cue:
    return Cue(segment.start, segment.end, (segment.text,), segment.speaker)


def _to_json(transcript: Transcript) -> dict[str, Any]:
    return {
        "segments": [asdict(segment) for segment in transcript.segments],
        "seconds": transcript.seconds,
        "language": transcript.language,
    }


def _from_json(value: dict[str, Any]) -> Transcript:
    segments = tuple(Segment(**segment) for segment in value["segments"])
    return Transcript(segments, value["seconds"], value["language"])
