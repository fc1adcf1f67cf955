"""Transcription over HTTP: what is sent, what is believed, what it costs."""

from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import AnswerNotJson, NetworkTimeout, PhaseError, RateLimited, TooLarge
from holdfast.providers.deepgram import DeepgramModel, DeepgramTranscriber, deepgram_api
from holdfast.providers.http import Endpoint, HttpApi
from holdfast.providers.openai_transcriber import OpenAITranscriber, TranscriptionModel
from holdfast.providers.transcriber import Transcriber, Transcript
from holdfast.testing import KEY, StandIn, refusal

SPEECH = Path(__file__).parent / "speech.wav"
USD_PER_MINUTE = Decimal("0.6")

Twist = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture
def openai(api: HttpApi) -> Transcriber:
    return OpenAITranscriber(api, TranscriptionModel("whisper-1", USD_PER_MINUTE))


@pytest.fixture
async def deepgram(stand_in: StandIn) -> AsyncIterator[Transcriber]:
    async with deepgram_api(Endpoint("deepgram", stand_in.base_url, KEY)) as api:
        yield DeepgramTranscriber(api, DeepgramModel(usd_per_minute=USD_PER_MINUTE))


@pytest.fixture(params=["openai", "deepgram"])
def transcriber(request: pytest.FixtureRequest) -> Transcriber:
    found: Transcriber = request.getfixturevalue(request.param)
    return found


async def transcribe(transcriber: Transcriber, recording: Path = SPEECH) -> Transcript:
    return await transcriber.transcribe(recording, media_type="audio/wav", on_progress=lambda _: None)


async def test_cost_is_by_the_minute(transcriber: Transcriber) -> None:
    assert (await transcribe(transcriber)).cost_usd == Decimal("0.084")


async def test_recording_arrives_whole(transcriber: Transcriber, stand_in: StandIn) -> None:
    await transcribe(transcriber)
    assert SPEECH.read_bytes() in stand_in.calls[0].body


async def test_openai_is_asked_for_timed_segments(openai: Transcriber, stand_in: StandIn) -> None:
    await transcribe(openai)
    body = stand_in.calls[0].body
    for part in (b"verbose_json", b"whisper-1", b'filename="recording.wav"', b"timestamp_granularities[]"):
        assert part in body


async def test_deepgram_is_asked_for_speakers(deepgram: Transcriber, stand_in: StandIn) -> None:
    transcript = await transcribe(deepgram)
    call = stand_in.calls[0]
    assert call.query["diarize"] == call.query["utterances"] == "true"
    assert call.headers["content-type"] == "audio/wav"
    assert call.headers["authorization"] == f"Token {KEY}"
    assert [segment.speaker for segment in transcript.segments] == ["Speaker 1", "Speaker 2"]


def in_segments(**changes: Any) -> Twist:
    """Change the first segment, in either shape."""

    def twisted(answer: dict[str, Any]) -> dict[str, Any]:
        rows = answer["segments"] if "segments" in answer else answer["results"]["utterances"]
        rows[0] |= changes
        return answer

    return twisted


def without_segments(answer: dict[str, Any]) -> dict[str, Any]:
    answer.pop("segments", None)
    answer.pop("results", None)
    return answer


NONSENSE: dict[str, Twist] = {
    "negative time": in_segments(start=-1.0),
    "ends before it starts": in_segments(start=5.0, end=1.0),
    "no number": in_segments(start=float("nan")),
    "time in words": in_segments(end="late"),
    "text of another kind": in_segments(text=5, transcript=5),
    "no segments": without_segments,
    "segments of another kind": lambda answer: {**answer, "segments": "x", "results": {"utterances": "x"}},
}


@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE.keys())
async def test_nonsense_is_refused_and_was_paid(transcriber: Transcriber, stand_in: StandIn, nonsense: Twist) -> None:
    stand_in.script(nonsense)
    with pytest.raises(AnswerNotJson) as caught:
        await transcribe(transcriber)
    assert caught.value.error_code == "WRONG_SCHEMA"
    assert caught.value.cost_usd == Decimal("0.084")


async def test_silence_is_left_out(transcriber: Transcriber, stand_in: StandIn) -> None:
    stand_in.script(in_segments(text=" ", transcript=" "))
    assert len((await transcribe(transcriber)).segments) == 1


@pytest.mark.parametrize("duration", [-5, 1e12, None, float("nan"), "long"], ids=repr)
async def test_absurd_duration_is_taken_from_the_segments(
    transcriber: Transcriber, stand_in: StandIn, duration: object
) -> None:
    stand_in.script(lambda answer: {**answer, "duration": duration, "metadata": {"duration": duration}})
    transcript = await transcribe(transcriber)
    assert transcript.seconds == pytest.approx(8.4)
    assert transcript.cost_usd == Decimal("0.084")


async def test_recording_beyond_the_limit_is_not_sent(api: HttpApi, stand_in: StandIn) -> None:
    small = OpenAITranscriber(api, TranscriptionModel("whisper-1", most_bytes=1000))
    with pytest.raises(TooLarge, match="openai takes 1,000"):
        await transcribe(small)
    assert stand_in.calls == []


async def test_limit_of_the_provider_is_passed_on(transcriber: Transcriber, stand_in: StandIn) -> None:
    stand_in.script(refusal(429, retry_after="5"))
    with pytest.raises(RateLimited) as caught:
        await transcribe(transcriber)
    assert caught.value.retry_after_seconds == 5


async def test_failure_of_the_provider_is_not_blamed_on_the_recording(
    transcriber: Transcriber, stand_in: StandIn
) -> None:
    stand_in.script(refusal(500, None, "our index is corrupt"))
    with pytest.raises(NetworkTimeout):
        await transcribe(transcriber)


async def test_bad_request_of_ours_is_not_blamed_on_the_recording(transcriber: Transcriber, stand_in: StandIn) -> None:
    stand_in.script(refusal(400, "bad_parameter", "Unknown parameter: diarise"))
    with pytest.raises(PhaseError) as caught:
        await transcribe(transcriber)
    assert type(caught.value) is PhaseError
