"""What a file is comes from its content; its name only decides between kinds of text."""

import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import Path

import pytest

from holdfast.intake.media_type import sniff, sniff_file, sniff_stream
from tests.intake.media_samples import office, old_tar, ole, tarred, zipped

OFFICE = "application/vnd.openxmlformats-officedocument"
MAIL = b"Return-Path: <ann@example.org>\r\nFrom: Ann\r\nSubject: Tide tables\r\n\r\nSee below.\r\n"
NOTE = b"From: Ann\nTo: Ben\nSubject: Tide tables\n\nSee below.\n"
SUBTITLES = b"1\r\n00:00:01,000 --> 00:00:02,000\r\nHigh water\r\n"
TABLE = b"port,high,low\nLeith,4.8,0.9\nWick,3.4,0.7\nOban,3.5,0.8\n"
MARKDOWN = b"# Tides\n\nSee [the table](table.md).\n"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"%PDF-1.7\n%\xe2\xe3", "application/pdf"),
        (b"\x00\x01junk\x00%PDF-1.4\n", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "image/png"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00", "image/jpeg"),
        (b"II*\x00" + bytes(20), "image/tiff"),
        (b"ID3\x04\x00\x00" + bytes(20), "audio/mpeg"),
        (b"\xff\xfb\x90\x00" + bytes(20), "audio/mpeg"),
        (b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00", "audio/wav"),
        (b"fLaC\x00\x00\x00\x22" + bytes(20), "audio/flac"),
        (b"OggS\x00\x02" + bytes(20), "audio/ogg"),
        (b"\x00\x00\x00\x20ftypM4A \x00\x00\x00\x00" + bytes(20), "audio/mp4"),
        (b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2" + bytes(20), "video/mp4"),
        (b"\x00\x00\x00\x18ftypdash\x00\x00\x00\x00iso6dash" + bytes(20), "video/mp4"),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm" + bytes(20), "video/webm"),
        (gzip.compress(b"x", mtime=0), "application/gzip"),
        (tarred(compression="gz"), "application/gzip"),
        (bz2.compress(b"x"), "application/x-bzip2"),
        (lzma.compress(b"x"), "application/x-xz"),
        (tarred(), "application/x-tar"),
        (old_tar(), "application/x-tar"),
        (b"{\\rtf1\\ansi Hello}", "application/rtf"),
        (zipped({}), "application/zip"),
        (bytes(600), "application/octet-stream"),
        (bytes(range(256)) * 8, "application/octet-stream"),
    ],
)
def test_binary_kinds_are_known_by_content_whatever_the_name(head: bytes, expected: str) -> None:
    assert sniff(head, "notes.txt") == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (office("word"), f"{OFFICE}.wordprocessingml.document"),
        (office("ppt"), f"{OFFICE}.presentationml.presentation"),
        (office("xl"), f"{OFFICE}.spreadsheetml.sheet"),
        (zipped({"mimetype": b"application/epub+zip", "a": b""}), "application/epub+zip"),
        (zipped({"a": b"", "META-INF/container.xml": b""}), "application/epub+zip"),
        (
            zipped({"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": b""}),
            "application/vnd.oasis.opendocument.text",
        ),
        (
            zipped({"mimetype": b"application/vnd.oasis.opendocument.spreadsheet"}),
            "application/vnd.oasis.opendocument.spreadsheet",
        ),
        (zipped({"backup/[Content_Types].xml": b"", "backup/word/document.xml": b""}), "application/zip"),
        (zipped({"word/notes.txt": b"plain"}), "application/zip"),
        (zipped({"report.pdf": b"%PDF-1.7"}), "application/zip"),
        (b"%PDF-1.7\n" + zipped({"word/document.xml": b"", "[Content_Types].xml": b""}), "application/pdf"),
        (ole("WordDocument"), "application/msword"),
        (ole("Workbook"), "application/vnd.ms-excel"),
        (ole("PowerPoint Document"), "application/vnd.ms-powerpoint"),
        (ole("EncryptedPackage"), "application/x-encrypted-office"),
        (ole("Other"), "application/x-ole-storage"),
    ],
)
def test_documents_in_containers_are_known_by_what_they_hold(tmp_path: Path, data: bytes, expected: str) -> None:
    path = tmp_path / "blob"
    path.write_bytes(data)
    assert sniff_file(path, "notes.txt") == expected


@pytest.mark.parametrize(
    ("header", "length"),
    [
        (b"\xff\xe3\x18\xc4", 72),  # 8 kbit/s at 8 kHz
        (b"\xff\xe3\x40\xc4", 208),  # 32 kbit/s at 11 kHz
        (b"\xff\xe2\x42\xc4", 209),  # the same with a checksum and padding
        (b"\xff\xfa\x90\x00", 417),  # 128 kbit/s at 44.1 kHz with a checksum
        (b"\xff\xfd\xa4\x00", 576),  # layer II, 192 kbit/s at 48 kHz
    ],
)
def test_sound_without_a_tag_is_known_by_two_frames(header: bytes, length: int) -> None:
    frame = header + b"\x7f\x00" * (length // 2 - 2) + bytes(length % 2)
    assert sniff(frame * 3, "a.bin") == "audio/mpeg"
    assert sniff(frame + b"\0" + frame, "a.bin") == "application/octet-stream"
    assert sniff(frame, "a.mp3") == "application/octet-stream"


@pytest.mark.parametrize(
    "parts",
    [
        ["Data/photo.jpg", "Index/Document.iwa", "Index/Tables/DataList.iwa", "Metadata/Properties.plist"],
        ["Index.zip", "Metadata/BuildVersionHistory.plist", "preview.jpg"],
        ["index.xml", "buildVersionHistory.plist", "QuickLook/Preview.pdf"],
        ["index.apxl", "buildVersionHistory.plist", "thumbs/st0.tiff"],
    ],
)
@pytest.mark.parametrize(("name", "kind"), [("a.pages", "pages"), ("a.key", "keynote"), ("a.numbers", "numbers")])
def test_what_apple_writes_is_no_archive(parts: list[str], name: str, kind: str) -> None:
    assert sniff(zipped(dict.fromkeys(parts, b"")), name) == f"application/vnd.apple.{kind}"


@pytest.mark.parametrize("parts", [["Index.zip", "notes.txt"], ["index.xml", "a.plist"], ["Index/a.txt", "b.iwa"]])
def test_what_only_looks_like_a_file_of_apple_is_an_archive(parts: list[str]) -> None:
    assert sniff(zipped(dict.fromkeys(parts, b"")), "a.pages") == "application/zip"


def test_beginning_of_a_package_is_enough_when_its_members_come_first() -> None:
    package = zipped({"[Content_Types].xml": b"<Types/>", "word/document.xml": bytes(100_000)})
    assert sniff(package[:2_000], "x") == f"{OFFICE}.wordprocessingml.document"


def test_old_office_document_without_readable_directory_goes_by_its_name() -> None:
    assert sniff(ole("WordDocument")[:4096], "letter.doc") == "application/msword"


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (b"", "empty.pdf", "text/plain"),
        (b"BMW makes cars.", "a", "text/plain"),
        (b"MZ, the writer", "a", "text/plain"),
        ("βραδιά στο λιμάνι".encode(), "a", "text/plain"),
        (b"How a file begins: %PDF-1.7 and so on.", "a.txt", "text/plain"),
        (MARKDOWN, "a.md", "text/markdown"),
        (MARKDOWN, "a.txt", "text/plain"),
        (MARKDOWN, "README", "text/markdown"),
        (TABLE, "a.csv", "text/csv"),
        (TABLE, "a.txt", "text/plain"),
        (TABLE, "a", "text/csv"),
        (TABLE.replace(b",", b"\t"), "a", "text/tab-separated-values"),
        (b"One, two, three.\n" * 2, "a", "text/plain"),
        (b"def f():\n    return 1\n", "a.py", "text/plain"),
        (b"<!-- x -->\n<!DOCTYPE html><title>Tides</title>", "a.txt", "text/html"),
        (b"<?xml version='1.0'?><html xmlns='x'/>", "a", "text/html"),
        (b"<p>High water</p>", "a.html", "text/html"),
        (b"<p>High water</p>", "a.md", "text/markdown"),
        (b"<?xml version='1.0'?><tides/>", "a", "application/xml"),
        (b"<svg xmlns='x'/>", "a", "image/svg+xml"),
        (b'{"port": "Leith"}', "a.txt", "application/json"),
        (b'[{"port": "Leith", "note": "breaks o', "a", "application/json"),
        (b'{"port": Leith}', "a.json", "application/json"),
        (b'{"port": Leith}', "a.txt", "text/plain"),
        (b"[" * 50_000, "a", "application/json"),
        (b"[" + b"1" * 6_000 + b"]", "a", "application/json"),
        (b"[1] A reference, not a list.", "a", "text/plain"),
        (b'{"a": 1}\n{"a": 2}\n', "a.log", "application/x-ndjson"),
        (SUBTITLES, "a.txt", "application/x-subrip"),
        (b"WEBVTT\n\n00:01.000 --> 00:02.000\nHigh water\n", "a.txt", "text/vtt"),
        (MAIL, "a.txt", "message/rfc822"),
        (NOTE, "a.txt", "text/plain"),
        (NOTE, "a.eml", "message/rfc822"),
        (b"From ann@example.org Sat Jan  3 01:05:34 2026\n" + MAIL, "a", "application/mbox"),
    ],
)
def test_kinds_of_text_are_told_apart(data: bytes, name: str, expected: str) -> None:
    assert sniff(data, name) == expected


@pytest.mark.parametrize(
    "encoding",
    ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "cp1251", "koi8-r"],
)
def test_text_in_any_encoding_is_text(encoding: str) -> None:
    assert sniff("Прилив начинается в шесть часов утра.\n".encode(encoding), "a.bin") == "text/plain"


@pytest.mark.parametrize("encoding", ["shift_jis", "euc-jp", "gb18030", "utf-16-le"])
def test_text_of_east_asia_is_text(encoding: str) -> None:
    assert sniff("潮は六時に満ちる。\n".encode(encoding), "a") == "text/plain"


def test_structure_is_seen_through_the_encoding() -> None:
    assert sniff('{"port": "Leith"}\n'.encode("utf-16"), "a") == "application/json"
    assert sniff('{"port": "Leith"}\n'.encode("utf-16-be"), "a") == "application/json"


def test_text_with_a_few_stray_controls_is_text_and_many_are_not() -> None:
    assert sniff(b"A long line of plain words.\n" * 50 + b"\0", "a.txt") == "text/plain"
    assert sniff(b"abc\0\1\2" * 50, "a.txt") == "application/octet-stream"


@pytest.mark.parametrize("text", ["The tide\0 turned.", "Die Flut\0 f\u00e4llt.", "The tides\0 turned.\n\0"])
def test_short_text_with_a_nul_is_text(text: str) -> None:
    assert sniff(text.encode(), "a.txt") == "text/plain"


@pytest.mark.parametrize("data", [b"abc\0" * 50, b"The tides\0 turned\x01.", b"caf\xe9\0\0\0 ole"])
def test_nul_among_much_else_that_is_no_text_is_none(data: bytes) -> None:
    assert sniff(data, "a.txt") == "application/octet-stream"


def test_head_that_ends_within_a_character_is_text() -> None:
    assert sniff("Ström".encode() * 20_000, "a.txt") == "text/plain"


@pytest.mark.parametrize(
    "head",
    [
        b"<!--a-->" * 10_000,
        b"<!--" * 20_000,
        b"<?xml" * 20_000,
        b"<p " * 25_000,
        b"[" * 70_000 + b"x",
        b"[a](" * 20_000,
        b"**a" * 25_000,
        b"-" * 70_000 + b"x",
        b"| ---" * 15_000 + b"x",
        b"a-" * 35_000,
        b"1" * 70_000,
        b"* a\n" * 20_000,
        b'{"a":' * 15_000,
    ],
)
@pytest.mark.parametrize("name", ["a", "a.html", "a.md"])
def test_text_made_to_be_read_slowly_is_told_at_once(head: bytes, name: str) -> None:
    assert sniff(head, name).startswith(("text/", "application/"))


def test_directory_of_a_million_members_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("first", b"")
    data = bytearray(path.read_bytes())
    entry = bytes(data[data.find(b"PK\x01\x02") : data.find(b"PK\x05\x06")])
    end = data[data.find(b"PK\x05\x06") :]
    end[12:16] = (len(entry) * 1_000_000).to_bytes(4, "little")
    with path.open("wb") as file:
        file.write(data[: data.find(b"PK\x01\x02")])
        for _ in range(100):
            file.write(entry * 10_000)
        file.write(end)
    watched = _Counting(path)
    with watched:
        assert sniff_stream(watched, "many.zip") == "application/zip"
    assert watched.bytes_read < 2_000_000


@pytest.mark.parametrize(
    "damage", [b"PK\x03\x04", b"PK\x05\x06", b"PK\x03\x04" + bytes(30) + b"PK\x05\x06" + b"\xff" * 18]
)
def test_damaged_zip_is_a_zip(damage: bytes) -> None:
    assert sniff(damage, "a.docx") == "application/zip"


class _Counting(io.FileIO):
    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        self.bytes_read = 0

    def read(self, size: int = -1, /) -> bytes:
        data = super().read(size)
        self.bytes_read += len(data or b"")
        return data or b""
