"""Half a file is refused for good, or read with a warning that the rest is missing; never taken for the whole."""

import struct
from pathlib import Path

import pytest

from holdfast.engine.classify import classify
from holdfast.errors import Category, PhaseError
from holdfast.extract.cut_off import warn_if_cut_off
from holdfast.extract.reading import Reading
from tests.extract.conftest import Extracting
from tests.extract.whole_files import SPEECH, TELLING, WholeFile, encoded, saved, tar

pytestmark = pytest.mark.asyncio(loop_scope="module")

# JSON Lines and archives say it in words of their own.
MISSING = {"CUT_OFF", "LINES_SKIPPED", "MEMBERS_SKIPPED"}


@pytest.mark.parametrize("file", TELLING.values(), ids=TELLING.keys())
async def test_half_a_file_is_never_taken_for_the_whole(extracted: Extracting, file: WholeFile) -> None:
    media_type, write = file
    whole = write()
    assert (await extracted(whole, media_type)).warnings == {}

    try:
        half = await extracted(whole[: len(whole) // 2], media_type, name="half")
    except PhaseError as error:
        failure = classify(error)
        assert failure.category is Category.CORRUPT_INPUT
        assert any(word in failure.error for word in ("damaged", "ends", "never closed"))
    else:
        assert half.warnings.keys() & MISSING


async def test_tar_that_ends_between_two_members_is_told_as_well(extracted: Extracting) -> None:
    half = tar(members=50)[: 50 * 1024]

    assert (await extracted(half, "application/x-tar", name="half.tar")).warnings == {
        "MEMBERS_SKIPPED": "half.tar has no end: it was probably cut off, get it again"
    }


async def test_small_picture_within_a_picture_does_not_pass_for_its_end(extracted: Extracting) -> None:
    whole = saved("JPEG")
    preview = b"\xff\xd8 a preview \xff\xd9"
    with_preview = whole[:2] + b"\xff\xe1" + struct.pack(">H", len(preview) + 2) + preview + whole[2:]

    assert (await extracted(with_preview, "image/jpeg")).warnings == {}
    assert "CUT_OFF" in (await extracted(with_preview[: len(with_preview) // 2], "image/jpeg")).warnings


async def test_page_may_leave_out_its_last_tags(extracted: Extracting) -> None:
    assert (await extracted(b"<!doctype html><title>Rules</title><p>Moor here.", "text/html")).warnings == {}
    assert (await extracted(b"<html><body><p>Moor here.</p>\n", "text/html")).warnings == {}


@pytest.mark.parametrize(
    ("name", "media_type", "codec", "options"),
    [
        ("speech.wav", "audio/wav", "pcm_s16le", {}),
        ("speech.mp3", "audio/mpeg", "libmp3lame", {}),
        ("speech.mp4", "video/mp4", "aac", {}),
        ("fast.mp4", "audio/mp4", "aac", {"movflags": "faststart"}),
        ("speech.ogg", "audio/ogg", "libopus", {"rate": 48_000}),
    ],
)
async def test_half_a_recording_is_told(
    tmp_path: Path, name: str, media_type: str, codec: str, options: dict[str, str]
) -> None:
    whole = encoded(tmp_path / name, codec, **options)

    assert _warnings(tmp_path, whole, media_type) == []
    assert _warnings(tmp_path, whole[: len(whole) // 2], media_type) == ["CUT_OFF"]


async def test_recording_whose_length_was_never_written_is_not_judged(tmp_path: Path) -> None:
    streamed = SPEECH.read_bytes()
    streamed = streamed[:4] + b"\xff\xff\xff\xff" + streamed[8:]

    assert _warnings(tmp_path, streamed, "audio/wav") == []


def _warnings(folder: Path, recording: bytes, media_type: str) -> list[str]:
    path = folder / "recording"
    path.write_bytes(recording)
    reading = Reading(folder, most_characters=100)
    warn_if_cut_off(path, media_type, reading)
    return [warning["code"] for warning in reading.finish()["warnings"]]
