"""Hostile and broken archives: each a permanent failure that says why, and nothing is written anywhere."""

import bz2
import gzip
import tarfile
import zipfile
from pathlib import Path

import pytest

from holdfast.configs import child
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
COMMENTS = (b"#" * 9_999 + b"\n") * 1_200


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
    "zip without a directory": (zip_of(dict([CONF]))[:40], "app.zip", "corrupt_input", "directory is missing"),
    "tar that is cut off": (tar_of([CONF])[:600], "app.tar", "corrupt_input", "cut off"),
    "gzip that is cut off": (tar_of([CONF], "w:gz")[:90], "app.tgz", "corrupt_input", "damaged"),
    "bzip2 that is cut off": (tar_of([CONF], "w:bz2")[:90], "app.tbz", "corrupt_input", "damaged"),
    "xz that is cut off": (tar_of([CONF], "w:xz")[:90], "app.txz", "corrupt_input", "damaged"),
    "parent path": (tar_of([CONF, ("../../evil.conf", b"a = 1\n")]), "app.tar", "unsafe_archive", "leads out"),
    "absolute path": (tar_of([("/etc/evil.conf", b"a = 1\n")]), "app.tar", "unsafe_archive", "leads out"),
    "drive path": (zip_of({"C:\\evil.conf": b"a = 1\n"}), "app.zip", "unsafe_archive", "leads out"),
    "encrypted": (forged_zip([Entry(b"a.conf", flags=1)]), "app.zip", "encrypted", "password"),
    "overlapping": (overlapping_zip(5), "app.zip", "unsafe_archive", "overlap"),
    "size that lies": (forged_zip([Entry(b"a.conf", b"a = 1", 2)]), "app.zip", "unsafe_archive", "does not have"),
    "gzip bomb": (gzip.compress(COMMENTS, 9), "bomb.conf.gz", "unsafe_archive", "times its size"),
    "bzip2 bomb": (bz2.compress(COMMENTS), "bomb.conf.bz2", "unsafe_archive", "times its size"),
    "xz window": (xz_with_window(tar_of([CONF]), 1 << 29), "app.txz", "unsafe_archive", "memory"),
    "links only": (
        tar_of([special("a.conf", tarfile.SYMTYPE, "/etc/passwd"), special("b.conf", tarfile.LNKTYPE, "/etc/passwd")]),
        "app.tar",
        "empty_text",
        "no .conf file",
    ),
    "twenty levels deep": (nested(20), "app.zip", "empty_text", "archives inside it are not opened"),
    "binary under a good name": (b"\x7fELF\0\0\0", "app.conf", "corrupt_input", "is not text"),
    "too many": (
        forged_zip(Entry(b"%d" % n, b"", method=0) for n in range(child.LIMITS.members + 1)),
        "app.zip",
        "unsafe_archive",
        "50,000 members",
    ),
}


@pytest.mark.parametrize("server", ["embedded"], indirect=True)
async def test_bad_archives_fail_for_good_and_say_why(desk: Desk) -> None:
    """All of them at one worker, as a bad day would bring them."""
    runs = {case: await desk.take_in(data, name) for case, (data, name, _, _) in BAD.items()}
    await desk.work()
    jobs = {row["id"]: row for row in await desk.app.database.fetch("select * from holdfast.pipeline_job")}
    ends = {case: jobs[taken.job_id] for case, taken in runs.items()}
    told = {case: job["last_error"] for case, job in ends.items()}
    assert {case: (job["state"], job["ready_at"]) for case, job in ends.items()} == dict.fromkeys(BAD, ("failed", None))
    assert {case: error["category"] for case, error in told.items()} == {case: bad[2] for case, bad in BAD.items()}
    assert [(case, told[case]["error"]) for case, bad in BAD.items() if bad[3] not in told[case]["error"]] == []
    assert [case for case, error in told.items() if "Traceback" not in error["details"]["traceback"]] == []
    for table in ("file", "stanza", "setting", "parse_error"):
        assert await desk.app.database.fetchval(f"select count(*) from holdfast.config_{table}") == 0


async def test_links_and_devices_beside_good_files_are_left_out_and_told(desk: Desk) -> None:
    members = [CONF, special("link.conf", tarfile.SYMTYPE, "/etc/passwd"), special("pipe.conf", tarfile.FIFOTYPE)]
    run = await desk.run(tar_of(members))
    warnings = await desk.app.warnings([run.run])
    assert [one.source_path for one in run.settings] == ["a.conf"]
    assert [warning["message"] for warning in warnings] == [
        "1 members left out (a link), the first is 'link.conf'",
        "1 members left out (a device), the first is 'pipe.conf'",
    ]


async def test_names_that_collide_or_deceive_are_told_apart(desk: Desk) -> None:
    names = ("a.conf", "a.conf", "A.conf", "x\u202eb.conf", "x\nb.conf")
    run = await desk.run(tar_of((name, b"[s]\na = 1\n") for name in names))
    assert [one.source_path for one in run.settings] == [
        "a.conf",
        "a (2).conf",
        "A (3).conf",
        "x_b.conf",
        "x_b (2).conf",
    ]


async def test_binary_file_beside_good_ones_is_a_bad_line_of_its_own(desk: Desk) -> None:
    run = await desk.run(zip_of({"bin.conf": b"\x7fELF\0", "a.conf": b"[s]\na = 1\n"}))
    assert run.state == "done"
    assert [(one.source_path, one.line) for one in run.errors] == [("bin.conf", 1)]
    assert [one.source_path for one in run.settings] == ["a.conf"]


async def test_errors_of_a_hopeless_file_are_counted_and_the_first_are_kept(desk: Desk) -> None:
    data = b"[s]\n" + b"nonsense\n" * (child.MOST_ERRORS_KEPT + 500)
    run = await desk.run(data, "a.conf")
    assert run.metrics is not None
    assert run.metrics["parse_errors"] == child.MOST_ERRORS_KEPT + 500
    assert len((await desk.rows(run.run))["parse_error"]) == child.MOST_ERRORS_KEPT


def _wide_archive(path: Path, files: int) -> None:
    line = b"".join(b"key_%d = a value of some length, as they are\n" % n for n in range(100))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(files):
            archive.writestr(f"etc/{number}.conf", b"".join(b"[%d]\n" % n + line for n in range(10)))


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
