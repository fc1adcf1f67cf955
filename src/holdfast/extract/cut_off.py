"""Tells whether a file was cut off, for formats that are read as if half of them were the whole."""

import re
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from holdfast.extract.reading import Reading

_END_BYTES = 1 << 16
_PDF_END_BYTES = 2048  # some programs write more behind the mark
_ROOT = re.compile(rb"<([A-Za-z_][\w.:-]*)")
_UNKNOWN_SIZES = (0, 0xFFFFFFFF)  # written by programs that did not go back when they knew better
_MOST_PARTS = 100_000


def warn_if_cut_off(path: Path, media_type: str, reading: Reading) -> None:
    """Warn if the file lacks the end that its format prescribes. Plain text has none, so that nobody can tell."""
    lacks_end = _LACKS_END.get(media_type)
    if lacks_end is None:
        return
    with path.open("rb") as file:
        if lacks_end(file, path.stat().st_size):
            reading.warn("CUT_OFF", "the file has no end: what came after is missing, get it again")


def _tail(file: BinaryIO, size: int, length: int = _END_BYTES) -> bytes:
    file.seek(max(0, size - length))
    return file.read(length)


def _pdf(file: BinaryIO, size: int) -> bool:
    return b"%%EOF" not in _tail(file, size, _PDF_END_BYTES)


def _rich_text(file: BinaryIO, size: int) -> bool:
    return not _tail(file, size).rstrip(b"\0\r\n\t ").endswith(b"}")


def _web_page(file: BinaryIO, size: int) -> bool:
    """A page may leave its last tags out, as those do that were made small; but then it seldom ends within a text."""
    head, tail = file.read(_END_BYTES).lower(), _tail(file, size).lower().rstrip()
    opened = any(tag in head for tag in (b"<html", b"<body"))
    closed = any(tag in tail for tag in (b"</html", b"</body"))
    return (opened and not closed and not tail.endswith(b">")) or tail.rfind(b"<") > tail.rfind(b">")


def _xml(file: BinaryIO, size: int) -> bool:
    root = _ROOT.search(file.read(_END_BYTES))
    if root is None:
        return False
    tail = _tail(file, size)
    return b"</" + root[1] not in tail and not tail.rstrip().endswith(b"/>")


def _jpeg(file: BinaryIO, size: int) -> bool:
    """The end mark is looked for behind the head, which may hold a small picture with an end of its own."""
    file.seek(2)
    for _ in range(_MOST_PARTS):
        marker = file.read(4)
        if len(marker) < 4 or marker[0] != 0xFF:
            return True
        if marker[1] == 0xDA:  # the picture itself begins
            length = min(_END_BYTES, size - file.tell())
            return b"\xff\xd9" not in _tail(file, size, length)
        file.seek(struct.unpack(">H", marker[2:])[0] - 2, 1)
    return True


def _wave(file: BinaryIO, size: int) -> bool:
    head = file.read(8)
    claimed = int(struct.unpack("<I", head[4:8])[0]) if len(head) == 8 and head.startswith(b"RIFF") else 0
    return claimed not in _UNKNOWN_SIZES and claimed + 8 > size + 1  # the last byte only fills up


def _boxes(file: BinaryIO, size: int) -> bool:
    """MP4 and its kin: boxes one after the other, each with its length."""
    position = 0
    for _ in range(_MOST_PARTS):
        file.seek(position)
        head = file.read(16)
        if len(head) < 8:
            return bool(head)
        length = int(struct.unpack(">I", head[:4])[0])
        if length == 1 and len(head) == 16:
            length = int(struct.unpack(">Q", head[8:])[0])
        if length < 8:
            return False  # 0: until the end, wherever that is
        position += length
        if position >= size:
            return position > size
    return False


def _mpeg_audio(file: BinaryIO, size: int) -> bool:
    """Many say in their first frame how many bytes the sound has; others cannot tell."""
    head = file.read(10)
    start = 0
    if head.startswith(b"ID3") and len(head) == 10:
        start = 10 + sum(byte << shift for byte, shift in zip(head[6:], (21, 14, 7, 0), strict=True))
    file.seek(start)
    frame = file.read(256)
    at = max(frame.find(b"Xing"), frame.find(b"Info"))
    if at < 0 or len(frame) < at + 16:
        return False
    flags = frame[at + 7]
    if not flags & 2:
        return False
    behind = at + (12 if flags & 1 else 8)
    return start + int(struct.unpack(">I", frame[behind : behind + 4])[0]) > size


def _ogg(file: BinaryIO, size: int) -> bool:
    """The last page of a stream says that it is the last."""
    tail = _tail(file, size, 2 * _END_BYTES)
    page = tail.rfind(b"OggS")
    return page < 0 or len(tail) < page + 6 or not tail[page + 5] & 4


_LACKS_END: Mapping[str, Callable[[BinaryIO, int], bool]] = MappingProxyType(
    {
        "application/pdf": _pdf,
        **dict.fromkeys(("application/rtf", "text/rtf"), _rich_text),
        **dict.fromkeys(("text/html", "application/xhtml+xml"), _web_page),
        **dict.fromkeys(("application/xml", "text/xml"), _xml),
        "image/jpeg": _jpeg,
        **dict.fromkeys(("audio/wav", "audio/x-wav", "audio/vnd.wave"), _wave),
        **dict.fromkeys(("video/mp4", "audio/mp4", "audio/x-m4a", "audio/m4a", "video/quicktime"), _boxes),
        "audio/mpeg": _mpeg_audio,
        **dict.fromkeys(("audio/ogg", "video/ogg", "audio/opus"), _ogg),
    }
)
