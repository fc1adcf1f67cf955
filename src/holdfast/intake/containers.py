"""Looks into containers that hold several kinds of document, and reads no more of them than a fixed amount."""

import struct
from collections.abc import Iterator
from typing import BinaryIO

ZIP_MARKS = (b"PK\x03\x04", b"PK\x05\x06")
OLE_MARK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ZIP = "application/zip"
TAR = "application/x-tar"
OLE = "application/x-ole-storage"
ENCRYPTED_OFFICE = "application/x-encrypted-office"

_OFFICE = "application/vnd.openxmlformats-officedocument"
_OFFICE_FOLDERS = {
    b"word/": f"{_OFFICE}.wordprocessingml.document",
    b"ppt/": f"{_OFFICE}.presentationml.presentation",
    b"xl/": f"{_OFFICE}.spreadsheetml.sheet",
}
_EPUB = "application/epub+zip"
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
# What Pages, Keynote and Numbers write tells itself apart only inside parts that nobody here can read.
_PAGES = "application/vnd.apple.pages"
_IWORK_EXTENSIONS = {".key": "application/vnd.apple.keynote", ".numbers": "application/vnd.apple.numbers"}
_OLD_IWORK_PARTS = frozenset({b"index.apxl", b"index.apxl.gz", b"index.xml", b"index.xml.gz"})
_OLE_STREAMS = {
    "WordDocument": "application/msword",
    "Workbook": "application/vnd.ms-excel",
    "Book": "application/vnd.ms-excel",
    "PowerPoint Document": "application/vnd.ms-powerpoint",
    "__properties_version1.0": "application/vnd.ms-outlook",
    "EncryptedPackage": ENCRYPTED_OFFICE,
}
_OLE_EXTENSIONS = {
    ".doc": "application/msword",
    ".xls": "application/vnd.ms-excel",
    ".ppt": "application/vnd.ms-powerpoint",
    ".msg": "application/vnd.ms-outlook",
}

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_CENTRAL_MARK = b"PK\x01\x02"
_MOST_DIRECTORY_BYTES = 1 << 20
_LONGEST_COMMENT_BYTES = 65_535


def kind_of_zip(file: BinaryIO, head: bytes, extension: str) -> str:
    """Which document a ZIP is, or that it is just a ZIP; its name decides only between Apple's."""
    declared = _declared_type(head)
    if declared is not None:
        return declared
    names = frozenset(_directory_names(file)) or frozenset(_leading_names(head))
    if b"META-INF/container.xml" in names:
        return _EPUB
    if b"[Content_Types].xml" in names:
        for folder, kind in _OFFICE_FOLDERS.items():
            if any(name.startswith(folder) for name in names):
                return kind
    return _IWORK_EXTENSIONS.get(extension, _PAGES) if _is_iwork(names) else ZIP


def kind_of_ole(file: BinaryIO, head: bytes, extension: str) -> str:
    """Which of the old Office documents it is, by the streams it holds; by its name if those are not in reach."""
    streams = frozenset(_stream_names(file, head))
    for name, kind in _OLE_STREAMS.items():
        if name in streams:
            return kind
    return _OLE_EXTENSIONS.get(extension, OLE)


def is_tar(head: bytes) -> bool:
    """Whether a tar header with the right checksum stands at the beginning; older ones carry no other mark."""
    block = head[:512]
    if len(block) < 512 or not block[0]:
        return False
    try:
        stated = int(block[148:156].strip(b" \0"), 8)
    except ValueError:
        return False
    return sum(block) - sum(block[148:156]) + 8 * ord(" ") == stated


def _declared_type(head: bytes) -> str | None:
    """What a first member named mimetype says, as EPUB and OpenDocument ask for, if it is one of those."""
    if len(head) < _LOCAL.size or not head.startswith(b"PK\x03\x04"):
        return None
    *_, name_length, extra_length = _LOCAL.unpack_from(head)
    start = _LOCAL.size + name_length + extra_length
    if head[_LOCAL.size :][:name_length] != b"mimetype":
        return None
    declared = head[start : start + 100]
    if declared.startswith(_EPUB.encode()):
        return _EPUB
    for part in ("text", "spreadsheet", "presentation"):
        if declared.startswith(f"{_OPEN_DOCUMENT}{part}".encode()):
            return _OPEN_DOCUMENT + part
    return None


def _is_iwork(names: frozenset[bytes]) -> bool:
    """Whether Pages, Keynote or Numbers wrote it: parts of a kind of their own, those packed, or the old way."""
    if any(name.startswith(b"Index/") and name.endswith(b".iwa") for name in names):
        return True
    if b"Index.zip" in names:
        return any(name.startswith(b"Metadata/") and name.endswith(b".plist") for name in names)
    return b"buildVersionHistory.plist" in names and not names.isdisjoint(_OLD_IWORK_PARTS)


def _directory_names(file: BinaryIO) -> Iterator[bytes]:
    """The members that the directory at the end names, up to a megabyte of it."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END.size - _LONGEST_COMMENT_BYTES))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size:
        return
    *_, length, offset, _ = _END.unpack_from(tail, at)
    file.seek(min(offset, size))
    directory = file.read(min(length, _MOST_DIRECTORY_BYTES))
    position = 0
    while directory[position : position + 4] == _CENTRAL_MARK and position + _CENTRAL.size <= len(directory):
        fields = _CENTRAL.unpack_from(directory, position)
        name_length, extra_length, comment_length = fields[10:13]
        start = position + _CENTRAL.size
        yield directory[start : start + name_length]
        position += _CENTRAL.size + name_length + extra_length + comment_length


def _leading_names(head: bytes) -> Iterator[bytes]:
    """The members whose own headers lie in the beginning, for a ZIP of which that is all there is."""
    position = head.find(b"PK\x03\x04")
    while position >= 0 and position + _LOCAL.size <= len(head):
        name_length = _LOCAL.unpack_from(head, position)[9]
        start = position + _LOCAL.size
        yield head[start : start + name_length]
        position = head.find(b"PK\x03\x04", position + 4)


def _stream_names(file: BinaryIO, head: bytes) -> Iterator[str]:
    """The names in the first sectors of an OLE directory."""
    if len(head) < 512:
        return
    shift, first = struct.unpack_from("<H", head, 30)[0], struct.unpack_from("<L", head, 48)[0]
    if shift not in (9, 12):
        return
    file.seek((first + 1) << shift)
    sectors = file.read(4096)
    for start in range(0, len(sectors) - 127, 128):
        length = struct.unpack_from("<H", sectors, start + 64)[0]
        yield sectors[start : start + max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
