"""Bad files among good ones: each ends for good in its category, and nothing else suffers."""

import tarfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
import pytest_asyncio

from holdfast.app import App
from tests.extract.bad_files import (
    cyclic_pages,
    deep_word,
    encrypted_pdf,
    flate_bomb,
    huge_picture,
    repeated_cells,
    zip_bomb,
)
from tests.extract.readers.archive_samples import Entry, forged_zip, overlapping_zip, special, tar_of, xz_with_window
from tests.extract.samples import pdf
from tests.walks.documents.ground import LONG, Ground, attempts, jobs, take_in, work

pytestmark = [pytest.mark.asyncio(loop_scope="module"), LONG]

BAD: Mapping[str, tuple[Callable[[], bytes], str]] = MappingProxyType(
    {
        "nothing.pdf": (lambda: b"", "empty_text"),
        "header-only.pdf": (lambda: b"%PDF-1.7\n", "corrupt_input"),
        "half.pdf": (lambda: pdf([["A page that was cut."], ["Another one."]])[:500], "corrupt_input"),
        "circle.pdf": (cyclic_pages, "corrupt_input"),
        "inflated.pdf": (flate_bomb, "unsafe_archive"),
        "locked.pdf": (encrypted_pdf, "encrypted"),
        "vast-picture.pdf": (huge_picture, "empty_text"),
        "bomb.docx": (zip_bomb, "unsafe_archive"),
        "deep.docx": (deep_word, "too_large"),
        "repeated.ods": (repeated_cells, "too_large"),
        "noise.doc": (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4000), "corrupt_input"),
        "noise.png": (lambda: b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20, "corrupt_input"),
        "noise.bin": (lambda: bytes(range(256)) * 20, "unsupported_format"),
        "climbing.tar": (lambda: tar_of([("../../escaped.txt", b"out")]), "unsafe_archive"),
        "overlapping.zip": (lambda: overlapping_zip(1000), "unsafe_archive"),
        "locked.zip": (lambda: forged_zip([Entry(b"a.txt", flags=1)]), "encrypted"),
        "window.xz": (lambda: xz_with_window(b"x" * 100, 1 << 30), "unsafe_archive"),
        "deep.json": (lambda: b"[" * 5000 + b"]" * 5000, "empty_text"),
        "packed.7z": (lambda: b"7z\xbc\xaf\x27\x1c" + bytes(100), "unsupported_format"),
    }
)
# Links are left out; what was to be written through them comes out as a member like any other.
LINKS = [special("out", tarfile.SYMTYPE, "/tmp"), ("out/escaped.txt", b"This was to be written elsewhere by a link.")]
FAILED_IN_EXTRACT = Counter({("store", "completed"): 1, ("extract", "failed"): 1})
GOOD = tuple(f"neighbour-{n:02}.{kind}" for n in range(8) for kind in ("txt", "pdf"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(common_ground: Ground) -> AsyncIterator[App]:
    """Good and bad files carried by one worker."""
    for name, (write, _) in BAD.items():
        (common_ground.library / name).write_bytes(write())
    for name in GOOD:
        words = f"The neighbour {name} is well and can be read."
        (common_ground.library / name).write_bytes(pdf([[words]]) if name.endswith("pdf") else words.encode())
    (common_ground.library / "links.tar").write_bytes(tar_of(LINKS))
    async with common_ground.opened() as app:
        await take_in(app, common_ground.library)
        await work(app)
        yield app


@pytest.mark.parametrize("name", BAD)
async def test_bad_file_fails_for_good_in_its_category(app: App, name: str) -> None:
    job = (await jobs(app))[name]

    error = job["last_error"]
    assert (job["state"], error["category"], error["retryable"]) == ("failed", BAD[name][1], False)
    assert await attempts(app, name) == FAILED_IN_EXTRACT


async def test_neighbours_of_bad_files_are_complete(app: App) -> None:
    standing = await jobs(app)

    assert {standing[name]["status"] for name in (*GOOD, "links.tar", "out/escaped.txt")} == {"complete"}


async def test_one_worker_outlives_them_all(app: App) -> None:
    failed = await app.database.fetchval("select count(*) from holdfast.pipeline_phase where outcome = 'failed'")
    lost = await app.database.fetchval("select count(*) from holdfast.pipeline_phase where outcome = 'lost'")

    assert (failed, lost) == (len(BAD), 0)
    assert await app.database.fetchval("select count(*) from holdfast.worker") == 1


async def test_bad_files_leave_nothing_outside_the_scratch_folder(app: App, common_ground: Ground) -> None:
    assert _names_in(common_ground.folder) == {"library", "store", "home"}
    assert _names_in(common_ground.library) == {*BAD, *GOOD, "links.tar"}
    assert "escaped.txt" not in _names_in(Path("/tmp"))


async def test_doctor_finds_nothing(app: App) -> None:
    assert await app.examine(deep=True) == []


def _names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
