"""The isolated side of local transcription: decodes a recording window by window, and writes down what it hears."""

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from holdfast.errors import CorruptInput, EmptyText

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Sound = NDArray[np.int16]

_RATE = 16_000
# Speech that is hard to make out is tried again at the next of these: at most three times the work.
_TEMPERATURES = (0.0, 0.4, 0.8)
# Containers that hold one recording. Playlists and the like name other files and addresses.
_FORMATS = "aac,ac3,aiff,amr,amrnb,amrwb,asf,au,avi,caf,flac,flv,matroska,mov,mp3,mpeg,mpegts,ogg,opus,rm,w64,wav,webm"
_OPTIONS = {"format_whitelist": _FORMATS, "protocol_whitelist": "file"}


def transcribe_recording(payload: dict[str, Any], progress: Callable[[float], None]) -> dict[str, Any]:
    """Return segments as rows of start, end, text and confidence, the length in seconds, and the language.

    Each window begins with the last thing heard in the one before, which may have been cut in half.
    """
    model: Any = None
    recording = _Recording(payload["recording"])
    rows: list[list[Any]] = []
    language: str | None = None
    for window in recording.windows(round(payload["window_seconds"] * _RATE)):
        # Only now: what cannot be opened needs no model.
        model = model or _load_model(payload)
        heard, information = model.transcribe(
            window.sound(),
            language=language,
            vad_filter=True,
            condition_on_previous_text=False,
            temperature=_TEMPERATURES,
        )
        language = information.language
        found = []
        for segment in heard:
            found.append(_row(segment, window.start_seconds))
            progress(recording.share(window.start_seconds + segment.end))
        rows += window.keep(found)
    progress(1.0)
    return {"segments": rows, "seconds": recording.seconds, "language": language}


def _load_model(payload: dict[str, Any]) -> Any:
    from faster_whisper import WhisperModel

    return WhisperModel(
        payload["model"], device="cpu", compute_type="int8", cpu_threads=payload["threads"], local_files_only=True
    )


def _row(segment: Any, offset: float) -> list[Any]:
    confidence = math.exp(min(0.0, segment.avg_logprob))
    return [round(offset + segment.start, 2), round(offset + segment.end, 2), segment.text.strip(), confidence]


class _Window:
    """A stretch of a recording. `resume_at` is where, in samples, the next one is to begin."""

    def __init__(self, samples: "Sound", *, start: int, is_last: bool) -> None:
        self.resume_at = start + len(samples)
        self._samples = samples
        self._start = start
        self._is_last = is_last

    @property
    def start_seconds(self) -> float:
        return self._start / _RATE

    def sound(self) -> Any:
        """As the model takes it."""
        import numpy as np

        return self._samples.astype(np.float32) / 32768.0

    def keep(self, rows: list[list[Any]]) -> list[list[Any]]:
        """Leave the last row to the next window, unless there is none or it would hear the same again."""
        if self._is_last or not rows:
            return rows
        begin = round(rows[-1][0] * _RATE)
        if begin <= self._start:
            return rows
        self.resume_at = begin
        return rows[:-1]


class _Recording:
    """A file with a sound track."""

    def __init__(self, path: str) -> None:
        self.seconds = 0.0
        self._path = path
        self._expected_seconds: float | None = None

    def share(self, seconds: float) -> float:
        """How much of it has been heard; nothing if it does not say how long it is."""
        return seconds / self._expected_seconds if self._expected_seconds else 0.0

    def windows(self, length: int) -> Iterator[_Window]:
        """Yield windows of so many samples; the consumer's `keep` decides where the next begins."""
        import numpy as np

        pieces = self._pieces()
        held, start, ended = np.empty(0, dtype=np.int16), 0, False
        while not ended:
            parts = [held]
            missing = length - len(held)
            while missing > 0 and not ended:
                piece = next(pieces, None)
                if piece is None:
                    ended = True
                else:
                    parts.append(piece)
                    missing -= len(piece)
            held = np.concatenate(parts)
            self.seconds = (start + len(held)) / _RATE
            window = _Window(held, start=start, is_last=ended)
            if len(held):
                yield window
            held, start = held[window.resume_at - start :], window.resume_at

    def _pieces(self) -> "Iterator[Sound]":
        """Yield the sound as it is decoded; damaged frames are passed over, as players do."""
        import av

        try:
            with av.open(self._path, options=_OPTIONS, **_bad_tags_ignored(av.__version__)) as container:
                if not container.streams.audio:
                    text = "the recording has no sound track: there is nothing to transcribe"
                    raise EmptyText(text, error_code="NO_SOUND")
                if container.duration:
                    self._expected_seconds = container.duration / av.time_base
                resampler = av.AudioResampler(format="s16", layout="mono", rate=_RATE)
                for frame in _sound_frames(container):
                    frame.pts = None
                    yield from map(_samples, resampler.resample(frame))
                yield from map(_samples, resampler.resample(None))
        except av.FFmpegError as error:
            text = f"the recording cannot be decoded ({error.strerror}): save it again as WAV, MP3 or MP4"
            raise CorruptInput(text, error_code="UNREADABLE_RECORDING") from error


def _bad_tags_ignored(version: str) -> dict[str, Any]:
    """How PyAV is told to open a file whose tags are not UTF-8; from 19 on it always does, and takes no such word."""
    return {"metadata_errors": "ignore"} if int(version.partition(".")[0]) < 19 else {}


def _samples(frame: Any) -> "Sound":
    samples: Sound = frame.to_ndarray().ravel()
    return samples


def _sound_frames(container: Any) -> Iterator[Any]:
    import av

    frames = container.decode(audio=0)
    while True:
        try:
            yield next(frames)
        except StopIteration:
            return
        except av.error.InvalidDataError:
            continue
