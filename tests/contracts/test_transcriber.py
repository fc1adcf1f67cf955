"""What every transcriber promises, run over each of them."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

import pytest

from holdfast.errors import CorruptInput
from holdfast.providers.deepgram import DeepgramModel, DeepgramTranscriber, deepgram_api
from holdfast.providers.http import Endpoint, HttpApi
from holdfast.providers.openai_transcriber import OpenAITranscriber, TranscriptionModel
from holdfast.providers.transcriber import Transcriber, Transcript
from holdfast.providers.whisper import WhisperTranscriber
from holdfast.testing import KEY, StandIn
from holdfast.testing.answering import SPOKEN, SPOKEN_AT, SPOKEN_SECONDS

SPEECH = Path(__file__).parent.parent / "providers" / "speech.wav"


async def openai(stack: AsyncExitStack) -> Transcriber:
    server = await stack.enter_async_context(StandIn())
    api = await stack.enter_async_context(HttpApi(Endpoint("openai", server.base_url, KEY)))
    return OpenAITranscriber(api, TranscriptionModel("whisper-1"))


async def deepgram(stack: AsyncExitStack) -> Transcriber:
    server = await stack.enter_async_context(StandIn())
    api = await stack.enter_async_context(deepgram_api(Endpoint("deepgram", server.base_url, KEY)))
    return DeepgramTranscriber(api, DeepgramModel())


async def whisper(_: AsyncExitStack) -> Transcriber:
    return WhisperTranscriber()


@pytest.fixture(params=[whisper, openai, deepgram], ids=lambda make: make.__name__)
async def transcriber(request: pytest.FixtureRequest) -> AsyncIterator[Transcriber]:
    async with AsyncExitStack() as stack:
        yield await request.param(stack)


async def transcribe(transcriber: Transcriber, recording: Path) -> tuple[Transcript, list[float]]:
    progress: list[float] = []
    transcript = await transcriber.transcribe(recording, media_type="audio/wav", on_progress=progress.append)
    return transcript, progress


async def test_words_are_found_at_their_times(transcriber: Transcriber) -> None:
    transcript, progress = await transcribe(transcriber, SPEECH)
    heard = " ".join(segment.text for segment in transcript.segments)
    assert SequenceMatcher(None, heard.split(), " ".join(SPOKEN).split()).ratio() > 0.85
    for segment, (start, end) in zip(transcript.segments, SPOKEN_AT, strict=True):
        assert segment.start == pytest.approx(start, abs=0.6)
        assert segment.start < segment.end
        assert segment.end == pytest.approx(end, abs=2.1)
    assert all(before.end <= after.start for before, after in pairwise(transcript.segments))
    assert transcript.seconds == pytest.approx(SPOKEN_SECONDS, abs=0.1)
    assert transcript.language == "en"
    assert all(segment.confidence is not None and 0 < segment.confidence <= 1 for segment in transcript.segments)
    assert transcript.cost_usd == 0
    assert progress == sorted(progress)
    assert progress[-1] == 1.0


async def test_what_is_no_recording_is_corrupt_input(transcriber: Transcriber, tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    recording.write_bytes(b"no recording at all " * 100)
    with pytest.raises(CorruptInput) as caught:
        await transcribe(transcriber, recording)
    assert caught.value.error_code == "UNREADABLE_RECORDING"
