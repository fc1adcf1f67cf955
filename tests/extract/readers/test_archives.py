"""Archives become members whatever their kind; a hostile one is refused and leaves nothing outside its folder."""

import bz2
import gzip
import stat
import tarfile
import zipfile
import zlib

import pytest

from holdfast.errors import CorruptInput, EmptyText, EncryptedInput, PhaseError, TooLarge, UnsafeArchive
from tests.extract.readers.archive_samples import (
    Entry,
    forged_zip,
    overlapping_zip,
    special,
    tar_of,
    xz_with_window,
    zip_of,
)
from tests.extract.readers.conftest import Unpacking
from tests.extract.readers.measured import measure_extraction

pytestmark = pytest.mark.asyncio(loop_scope="module")

ZIP, TAR, GZIP = "application/zip", "application/x-tar", "application/gzip"
FILES = {
    "notes.txt": b"The bridge is closed.",
    "plans/old/bridge.md": b"# Bridge\n" * 3_000,
    "h\u00e9.txt": b"\x00\xff",
}


@pytest.mark.parametrize(
    "data",
    [
        zip_of(FILES),
        zip_of(FILES, zipfile.ZIP_STORED),
        zip_of(FILES, zipfile.ZIP_BZIP2),
        tar_of(FILES.items()),
        tar_of(FILES.items(), style=tarfile.GNU_FORMAT),
        tar_of(FILES.items(), style=tarfile.USTAR_FORMAT),
        tar_of(FILES.items(), "w:gz"),
        tar_of(FILES.items(), "w:bz2"),
        tar_of(FILES.items(), "w:xz"),
    ],
    ids=["zip", "stored", "bzip2 in zip", "pax", "gnu", "ustar", "tar.gz", "tar.bz2", "tar.xz"],
)
async def test_members_come_out_whole(unpacked: Unpacking, data: bytes) -> None:
    archive = await unpacked(data, ZIP, name="plans.archive")

    assert archive.members == FILES
    assert archive.files == {"members/000000", "members/000001", "members/000002"}
    assert archive.document.text.startswith("Files in plans.archive:\n\n- notes.txt (21 bytes)\n")
    assert archive.document.summary["warnings"] == []


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (gzip.compress(b"The bridge is closed.", mtime=0), "note.txt"),
        (gzip.compress(b"The bridge ", mtime=0) + gzip.compress(b"is closed.", mtime=0) + b"\0" * 512, "note.txt"),
        (bz2.compress(b"The bridge is closed."), "note.txt"),
        (xz_with_window(b"The bridge is closed.", 1 << 20), "note.txt"),
    ],
    ids=["gzip", "two streams", "bzip2", "xz"],
)
async def test_single_compressed_file_is_one_member(unpacked: Unpacking, data: bytes, name: str) -> None:
    assert (await unpacked(data, GZIP, name=f"{name}.packed")).members == {name: b"The bridge is closed."}


async def test_output_held_back_at_the_end_of_a_piece_comes_too(unpacked: Unpacking) -> None:
    content = b"ab" * ((1 << 19) + 50)

    assert (await unpacked(zip_of({"a": content}), ZIP)).members == {"a": content}


@pytest.mark.parametrize("name", ["a/" + "deep/" * 30 + "file.txt", "deep/" * 30 + "file.txt"])
async def test_long_names_survive_wherever_the_short_one_beside_them_is_cut(unpacked: Unpacking, name: str) -> None:
    for style in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        assert (await unpacked(tar_of([(name, b"x")], style=style), TAR)).members == {name: b"x"}


async def test_large_zip_fields_are_understood(unpacked: Unpacking) -> None:
    wide = forged_zip(
        [Entry(b"wide", b"content", unpacked=0xFFFFFFFF, extra=b"\x01\x00\x08\x00" + (7).to_bytes(8, "little"))]
    )

    assert (await unpacked(wide, ZIP)).members == {"wide": b"content"}


@pytest.mark.parametrize(
    "name", ["../x", "a/../../x", "/etc/passwd", "C:\\x", "c:x", "\\\\host\\share", "a\\..\\..\\x"]
)
async def test_name_that_leads_out_condemns_the_archive(unpacked: Unpacking, name: str) -> None:
    for data in (forged_zip([Entry(b"good"), Entry(name.encode())]), tar_of([("good", b"x"), (name, b"x")])):
        with pytest.raises(UnsafeArchive, match="leads out of the archive") as raised:
            await unpacked(data, ZIP)
        assert raised.value.error_code == "UNSAFE_NAME"


async def test_links_and_devices_are_left_out(unpacked: Unpacking) -> None:
    members = [
        special("link", tarfile.SYMTYPE, "/etc"),
        ("link/passwd", b"not written there"),
        special("hard", tarfile.LNKTYPE, "link/passwd"),
        special("pipe", tarfile.FIFOTYPE),
        special("disk", tarfile.BLKTYPE),
        special("folder", tarfile.DIRTYPE),
    ]

    archive = await unpacked(tar_of(members), TAR)

    assert archive.members == {"link/passwd": b"not written there"}
    assert archive.files == {"members/000000"}
    skipped = [warning["message"] for warning in archive.document.summary["warnings"]]
    assert skipped == [
        "2 members left out (a link), the first is 'link'",
        "2 members left out (a device), the first is 'pipe'",
    ]


async def test_links_in_a_zip_are_left_out(unpacked: Unpacking) -> None:
    link = Entry(b"link", b"/etc/passwd", mode=stat.S_IFLNK | 0o777)

    archive = await unpacked(forged_zip([link, Entry(b"file", mode=stat.S_IFREG | 0o644)]), ZIP)

    assert archive.members == {"file": b"content"}
    assert "a link or device" in archive.document.warnings["MEMBERS_SKIPPED"]


async def test_colliding_names_are_numbered(unpacked: Unpacking) -> None:
    data = tar_of([("a.txt", b"1"), ("a.txt", b"2"), ("A.TXT", b"3"), ("a (2).txt", b"4")])

    archive = await unpacked(data, TAR)

    assert archive.members == {"a.txt": b"1", "a (2).txt": b"2", "A (3).TXT": b"3", "a (2) (2).txt": b"4"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("line\r\nbreak.txt", "line__break.txt"),
        ("nul\0.txt", "nul_.txt"),
        ("invoice\u202efdp.exe", "invoice_fdp.exe"),
        ("./plain.txt", "plain.txt"),
    ],
    ids=["line break", "nul", "right to left", "dot"],
)
async def test_names_are_made_printable(unpacked: Unpacking, name: str, shown: str) -> None:
    archive = await unpacked(forged_zip([Entry(name.encode(), flags=0x800)]), ZIP)

    assert list(archive.members) == [shown]
    assert ("NAME_CHANGED" in archive.document.warnings) == (not name.startswith("./"))


async def test_litter_and_empty_files_are_left_out(unpacked: Unpacking) -> None:
    archive = await unpacked(zip_of({"a": b"x", "b": b"", "__MACOSX/._a": b"x", "c/.DS_Store": b"x"}), ZIP)

    assert list(archive.members) == ["a"]


@pytest.mark.parametrize(
    ("data", "error", "code"),
    [
        (zip_of({"zeros": b"\0" * 30_000_000}), UnsafeArchive, "ARCHIVE_BOMB"),
        (gzip.compress(b"\0" * 30_000_000, mtime=0), UnsafeArchive, "ARCHIVE_BOMB"),
        (bz2.compress(b"\0" * 30_000_000), UnsafeArchive, "ARCHIVE_BOMB"),
        (xz_with_window(b"\0" * 30_000_000, 1 << 16), UnsafeArchive, "ARCHIVE_BOMB"),
        (tar_of([("zeros", b"\0" * 30_000_000)], "w:gz"), UnsafeArchive, "ARCHIVE_BOMB"),
        (overlapping_zip(9), UnsafeArchive, "ARCHIVE_OVERLAP"),
        (overlapping_zip(1_000), UnsafeArchive, "ARCHIVE_BOMB"),
        (forged_zip([Entry(b"small", b"x" * 5_000, unpacked=10)]), UnsafeArchive, "ARCHIVE_SIZE_LIES"),
        (forged_zip([Entry(b"large", b"x" * 5_000, unpacked=9_000)]), UnsafeArchive, "ARCHIVE_SIZE_LIES"),
        (forged_zip([Entry(b"stored", b"x" * 5_000, unpacked=9_000, method=0)]), UnsafeArchive, "ARCHIVE_SIZE_LIES"),
        (forged_zip([Entry(b"huge", unpacked=0xFFFFFFFE)]), TooLarge, "ARCHIVE_LIMIT"),
        (forged_zip(Entry(b"%d" % number, b"") for number in range(10_001)), TooLarge, "MEMBER_LIMIT"),
        (tar_of([(str(number), b"") for number in range(10_001)], "w:gz"), TooLarge, "MEMBER_LIMIT"),
        (forged_zip([Entry(b"secret", flags=1)]), EncryptedInput, "ARCHIVE_ENCRYPTED"),
        (zip_of({}), EmptyText, "NO_MEMBERS"),
        (tar_of([special("folder", tarfile.DIRTYPE)]), EmptyText, "NO_MEMBERS"),
        (tar_of([], "w:gz"), EmptyText, "NO_MEMBERS"),
        (b"PK\x03\x04" + b"rubbish" * 100, CorruptInput, "ARCHIVE_DAMAGED"),
        (zip_of(FILES)[:-30], CorruptInput, "ARCHIVE_DAMAGED"),
        (zip_of(FILES).replace(b"PK\x03\x04", b"PK\x03\x05"), CorruptInput, "NOT_AN_ARCHIVE"),
        (forged_zip([Entry(b"moved", offset=900_000)]), CorruptInput, "ARCHIVE_DAMAGED"),
        (
            forged_zip([Entry(b"far", offset=0xFFFFFFFF, extra=b"\x01\0\x08\0" + b"\xff" * 8)]),
            CorruptInput,
            "ARCHIVE_DAMAGED",
        ),
        (gzip.compress(b"some words " * 500, mtime=0)[:-20], CorruptInput, "ARCHIVE_DAMAGED"),
        (gzip.compress(b"some words", mtime=0)[:-8] + b"\0" * 8, CorruptInput, "ARCHIVE_DAMAGED"),
        (tar_of([("a", b"x" * 5_000)])[:2_000], CorruptInput, "ARCHIVE_DAMAGED"),
        (b"only words", CorruptInput, "NOT_AN_ARCHIVE"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_hostile_and_damaged_archives_are_refused(
    unpacked: Unpacking, data: bytes, error: type[PhaseError], code: str
) -> None:
    with pytest.raises(error) as raised:
        await unpacked(data, ZIP)

    assert raised.value.error_code == code
    assert (await unpacked(zip_of(FILES), ZIP)).members == FILES


async def test_checksum_is_verified(unpacked: Unpacking) -> None:
    data = bytearray(zip_of({"a": b"some words"}, zipfile.ZIP_STORED))
    data[data.index(b"some")] ^= 1

    with pytest.raises(CorruptInput, match="checksum"):
        await unpacked(bytes(data), ZIP)


async def test_partly_encrypted_archive_gives_what_it_can(unpacked: Unpacking) -> None:
    archive = await unpacked(forged_zip([Entry(b"open"), Entry(b"secret", flags=1)]), ZIP)

    assert list(archive.members) == ["open"]
    assert "needs a password" in archive.document.warnings["MEMBERS_SKIPPED"]


async def test_unknown_method_is_left_out(unpacked: Unpacking) -> None:
    archive = await unpacked(forged_zip([Entry(b"open"), Entry(b"odd", method=99)]), ZIP)

    assert list(archive.members) == ["open"]
    assert "method 99" in archive.document.warnings["MEMBERS_SKIPPED"]


async def test_window_beyond_the_limit_is_refused(unpacked: Unpacking) -> None:
    data = bytearray(xz_with_window(b"words", 1 << 16))
    # The window's size is one byte of the block's header, followed by its padding and its checksum.
    header = 12
    data[header + 4] = 40
    data[header + 8 : header + 12] = zlib.crc32(data[header : header + 8]).to_bytes(4, "little")

    with pytest.raises(UnsafeArchive) as raised:
        await unpacked(bytes(data), GZIP)

    assert raised.value.error_code == "ARCHIVE_WINDOW"


async def test_endless_tar_header_is_refused(unpacked: Unpacking) -> None:
    info = special("pax", tarfile.XHDTYPE)
    info.size = 8 << 30

    with pytest.raises(UnsafeArchive) as raised:
        await unpacked(info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 5_000, TAR)

    assert raised.value.error_code == "ARCHIVE_HEADER"


async def test_negative_tar_size_is_refused(unpacked: Unpacking) -> None:
    info = special("negative", tarfile.REGTYPE)
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[124:136] = b"\xff" * 12
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)

    with pytest.raises(CorruptInput):
        await unpacked(bytes(tar_of([("a", b"x")])[:1024] + block + b"\0" * 1_024), TAR)


async def test_memory_does_not_grow_with_the_members() -> None:
    content = bytes(range(256)) * 160_000

    summary = await measure_extraction(zip_of({"a": content, "b": content}, zipfile.ZIP_STORED), ZIP)

    assert len(summary["members"]) == 2
    assert summary["growth_mb"] < 25
