"""Hostile and broken archives: each a permanent failure that says why, and nothing is written anywhere."""

import bz2
import gzip
import random
import sys
import tarfile
import tempfile
import tracemalloc
import zipfile
from glob import glob
from pathlib import Path

import pytest

from holdfast.configs import child
from holdfast.configs.conf import MOST_NAME_BYTES
from holdfast.configs.paths import MOST_PATH_BYTES
from holdfast.engine.isolated_children import Children
from holdfast.engine.isolation import Limits
from tests.configs.conftest import Desk
from tests.configs.measured import read_and_measure
from tests.extract.readers.archive_samples import (
    Entry,
    forged_zip,
    overlapping_zip,
    special,
    tar_of,
    xz_with_window,
    zip_of,
)

CONF = ("a.conf", b"[s]\na = 1\n")
# The header of the first member and its data, then nothing: neither the second nor the end.
TWO_BLOCKS = tar_of([CONF, ("b.conf", b"[s]\na = 1\n")])[:1024]
EXECUTABLE = Path(sys.executable).read_bytes()[:100_000]
COMMENTS = (b"#" * 9_999 + b"\n") * 1_200


def bomb(megabytes: int) -> bytes:
    """An archive of a file that nobody reads, but everybody has to pass."""
    info = tarfile.TarInfo("notes.txt")
    info.size = megabytes * 1_000_000
    return gzip.compress(info.tobuf()) + gzip.compress(bytes(1_000_000), 9) * megabytes


def nested(levels: int) -> bytes:
    """An archive in an archive in an archive."""
    data = zip_of(dict([CONF]))
    for _ in range(levels):
        data = zip_of({"inner.zip": data})
    return data


BAD = {
    "empty": (b"", "app.tgz", "empty_text", "zero bytes"),
    "no archive": (b"%PDF-1.7 hello", "app.pdf", "unsupported_format", "neither an archive"),
    "text under another name": (b"a = 1\n", "notes.txt", "unsupported_format", "neither an archive"),
    "no conf file": (zip_of({"readme.txt": b"hello"}), "app.zip", "empty_text", "no .conf file"),
    "only empty conf files": (zip_of({"a.conf": b""}), "app.zip", "empty_text", "no .conf file"),
    "no file at all": (tar_of([], "w:gz"), "app.tgz", "empty_text", "no .conf file with content (other files: 0"),
    "zip without a directory": (zip_of(dict([CONF]))[:40], "app.zip", "corrupt_input", "directory is missing"),
    "tar that is cut off": (tar_of([CONF])[:600], "app.tar", "corrupt_input", "cut off"),
    "tar that is cut off between its members": (TWO_BLOCKS, "app.tar", "corrupt_input", "get it again"),
    "the same in a whole gzip": (gzip.compress(TWO_BLOCKS), "app.tgz", "corrupt_input", "get it again"),
    "gzip that is cut off": (tar_of([CONF], "w:gz")[:90], "app.tgz", "corrupt_input", "damaged"),
    "bzip2 that is cut off": (tar_of([CONF], "w:bz2")[:90], "app.tbz", "corrupt_input", "damaged"),
    "xz that is cut off": (tar_of([CONF], "w:xz")[:90], "app.txz", "corrupt_input", "damaged"),
    "parent path": (tar_of([CONF, ("../../evil.conf", b"a = 1\n")]), "app.tar", "unsafe_archive", "leads out"),
    "absolute path": (tar_of([("/etc/evil.conf", b"a = 1\n")]), "app.tar", "unsafe_archive", "leads out"),
    "drive path": (zip_of({"C:\\evil.conf": b"a = 1\n"}), "app.zip", "unsafe_archive", "leads out"),
    "encrypted": (forged_zip([Entry(b"a.conf", flags=1)]), "app.zip", "encrypted", "password"),
    "overlapping": (overlapping_zip(5), "app.zip", "unsafe_archive", "overlap"),
    "size that lies": (forged_zip([Entry(b"a.conf", b"a = 1", 2)]), "app.zip", "unsafe_archive", "does not have"),
    "gzip bomb": (gzip.compress(COMMENTS, 9) * 9, "bomb.conf.gz", "too_large", "more than 100,000,000 bytes"),
    "bzip2 bomb": (bz2.compress(COMMENTS) * 9, "bomb.conf.bz2", "too_large", "more than 100,000,000 bytes"),
    "bomb of other files": (bomb(1_001), "notes.tgz", "too_large", "more than 1,000,000,000 bytes"),
    "xz window": (xz_with_window(tar_of([CONF]), 1 << 29), "app.txz", "unsafe_archive", "memory"),
    "links only": (
        tar_of([special("a.conf", tarfile.SYMTYPE, "/etc/passwd"), special("b.conf", tarfile.LNKTYPE, "/etc/passwd")]),
        "app.tar",
        "empty_text",
        "no .conf file",
    ),
    "twenty levels deep": (nested(20), "app.zip", "empty_text", "archives inside it are not opened"),
    "binary under a good name": (EXECUTABLE, "app.conf", "corrupt_input", "is not text"),
    "path too long": (
        tar_of([CONF, ("b/" * 600 + "b.conf", b"a = 1\n")]),
        "app.tar",
        "too_large",
        "a path of more than 1,000 bytes",
    ),
    "name too long": (tar_of([(f"{'b' * 300}.conf", b"a = 1\n")]), "app.tar", "too_large", "a name of more than 255"),
    "too many": (
        forged_zip(Entry(b"%d" % n, b"", method=0) for n in range(child.LIMITS.members + 1)),
        "app.zip",
        "too_large",
        "50,000 members",
    ),
}


@pytest.mark.parametrize("server", ["embedded"], indirect=True)
async def test_bad_archives_fail_for_good_and_say_why(desk: Desk, tmp_path: Path) -> None:
    """All of them at one worker, as a bad day would bring them."""
    runs = {case: await desk.take_in(data, name) for case, (data, name, _, _) in BAD.items()}
    before = _files(tmp_path)
    await desk.work()
    assert _files(tmp_path) == before
    jobs = {row["id"]: row for row in await desk.app.database.fetch("select * from holdfast.pipeline_job")}
    ends = {case: jobs[taken.job_id] for case, taken in runs.items()}
    told = {case: job["last_error"] for case, job in ends.items()}
    assert {case: (job["state"], job["ready_at"]) for case, job in ends.items()} == dict.fromkeys(BAD, ("failed", None))
    assert {case: error["category"] for case, error in told.items()} == {case: bad[2] for case, bad in BAD.items()}
    assert [(case, told[case]["error"]) for case, bad in BAD.items() if bad[3] not in told[case]["error"]] == []
    assert [case for case, error in told.items() if "Traceback" not in error["details"]["traceback"]] == []
    for table in ("file", "stanza", "setting", "parse_error"):
        assert await desk.app.database.fetchval(f"select count(*) from holdfast.config_{table}") == 0


def _files(ground: Path) -> set[Path]:
    """Everything in the folder of the test, and what stands where the names in bad archives lead."""
    temporary = tempfile.gettempdir()
    scratch = [f"{temporary}/holdfast-scratch-{depth}" for depth in ("*", "*/*", "*/*/*")]
    aims = ["/", "/etc", Path.cwd(), temporary, *scratch]
    # Not by Path.glob, which fails when a folder goes that it was about to look into: other tests have theirs there.
    return {Path(path) for aim in aims for path in glob(f"{aim}/*evil*")} | set(ground.rglob("*"))


async def test_thousands_of_files_that_resemble_each_other_are_no_bomb(desk: Desk) -> None:
    lines = b"[monitor:///var/log]\nindex = main\n" + b"# what the product says about its settings\n" * 450
    data = tar_of(((f"apps/{n}/default/inputs.conf", lines) for n in range(600)), "w:xz")
    assert len(data) * 500 < len(lines) * 600
    run = await desk.run(data, "apps.txz")
    assert run.state == "done", run.error_message
    assert run.metrics is not None
    assert run.metrics["files_parsed"] == 600


async def test_links_and_devices_beside_good_files_are_left_out_and_told(desk: Desk) -> None:
    members = [CONF, special("link.conf", tarfile.SYMTYPE, "/etc/passwd"), special("pipe.conf", tarfile.FIFOTYPE)]
    run = await desk.run(tar_of(members))
    warnings = await desk.app.warnings([run.run])
    assert [one.source_path for one in run.settings] == ["a.conf"]
    assert [warning["message"] for warning in warnings] == [
        "1 members left out (a link), the first is 'link.conf'",
        "1 members left out (a device), the first is 'pipe.conf'",
    ]


async def test_paths_are_kept_to_the_letter_in_whatever_order_they_come(desk: Desk) -> None:
    deep = f"{'deep/' * 100}f.conf"
    names = ("app/Inputs.conf", "app/inputs.conf", "./b.conf", "c\\d.conf", "x\u202eb.conf", "x\nb.conf", deep)
    files = [(name, b"[s]\na = %d\n" % number) for number, name in enumerate(names)]
    run, again = await desk.run(tar_of(files)), await desk.run(tar_of(reversed(files)))
    assert [one.source_path for one in run.settings] == [
        "app/Inputs.conf",
        "app/inputs.conf",
        "b.conf",
        "c\\d.conf",
        "x\\u202eb.conf",
        "x\\u000ab.conf",
        deep,
    ]
    assert (await desk.app.configs.diff(run.run, again.run)).changes == []


async def test_path_that_is_there_twice_gets_a_number(desk: Desk) -> None:
    run = await desk.run(tar_of((name, b"[s]\na = 1\n") for name in ("a.conf", "a.conf", "./a.conf", "A.conf")))
    assert [one.source_path for one in run.settings] == ["a.conf", "a (2).conf", "a (3).conf", "A.conf"]


async def test_zip_that_was_packed_on_windows_has_the_same_paths(desk: Desk) -> None:
    run = await desk.run(forged_zip([Entry(b"app\\a.conf", b"[s]\na = 1\n")]))
    assert [(one.source_path, one.file) for one in run.settings] == [("app/a.conf", "a.conf")]


async def test_longest_path_and_stanza_fit_into_the_index(desk: Desk) -> None:
    name = f"{hex_text(250)}.conf"
    path = "/".join([*(hex_text(99) for _ in range(7)), hex_text(44), name])
    assert len(path) == MOST_PATH_BYTES
    run = await desk.run(tar_of([(path, f"[{hex_text(MOST_NAME_BYTES)}]\na = 1\n".encode())]))
    assert [one.source_path for one in run.settings] == [path]


def hex_text(length: int) -> str:
    """Text that nothing makes shorter."""
    return random.Random(length).randbytes(length).hex()[:length]


async def test_binary_file_beside_good_ones_is_a_bad_line_of_its_own(desk: Desk) -> None:
    run = await desk.run(zip_of({"bin.conf": EXECUTABLE, "a.conf": b"[s]\na = 1\n"}))
    assert run.state == "done"
    assert [(one.source_path, one.line) for one in run.errors] == [("bin.conf", 1)]
    assert [one.source_path for one in run.settings] == ["a.conf"]


async def test_errors_of_a_hopeless_file_are_counted_and_the_first_are_kept(desk: Desk) -> None:
    data = b"[s]\n" + b"nonsense\n" * (child.MOST_ERRORS_KEPT + 500)
    run = await desk.run(data, "a.conf")
    assert run.metrics is not None
    assert run.metrics["parse_errors"] == child.MOST_ERRORS_KEPT + 500
    assert len((await desk.rows(run.run))["parse_error"]) == child.MOST_ERRORS_KEPT


async def test_as_many_lines_are_listed_as_are_counted(desk: Desk) -> None:
    run = await desk.run(b"[s]\nj = 1\nk = caf\xe9\\", "t.conf")
    assert run.metrics is not None
    assert run.metrics["parse_errors"] == len(run.errors) == 1


def _wide_archive(path: Path, files: int) -> None:
    line = b"".join(b"key_%d = a value of some length, as they are\n" % n for n in range(100))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(files):
            archive.writestr(f"etc/{number}.conf", b"".join(b"[%d]\n" % n + line for n in range(10)))


@pytest.mark.thorough
@pytest.mark.parametrize("server", ["embedded"], indirect=True)
async def test_memory_of_the_worker_does_not_grow_either(desk: Desk, tmp_path: Path) -> None:
    peaks = []
    for files in (2, 60):
        _wide_archive(tmp_path / "app.zip", files)
        await desk.take_in((tmp_path / "app.zip").read_bytes(), "app.zip")
        tracemalloc.start()
        await desk.work()
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
        assert (await desk.job())["state"] == "done"
    assert peaks[1] - peaks[0] < 5, peaks


async def test_memory_does_not_grow_with_the_archive(tmp_path: Path) -> None:
    peaks = []
    for files in (2, 60):
        _wide_archive(tmp_path / "app.zip", files)
        async with Children(limits=Limits(), at_most=1) as children, children.child(key="acme") as leased:
            (leased.folder / "input").write_bytes((tmp_path / "app.zip").read_bytes())
            payload = {"path": str(leased.folder / "input"), "folder": str(leased.folder), "name": "app.zip"}
            answer = await leased.run(read_and_measure, payload)
        assert isinstance(answer, dict)
        assert answer["settings"] == files * 1_000
        peaks.append(answer["growth_mb"])
    assert peaks[1] - peaks[0] < 5
