"""The lines of a .conf file, whatever its encoding and line ends, in memory that does not grow with the file."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

MOST_LINE_BYTES = 1_000_000

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UTF8 = "utf-8"
# What most files are that are not what they should be; unlike UTF-8 it reads any byte.
_FALLBACK = "cp1252"

# Damage leaves control characters in a few places, or one long run of them; an executable or a picture has them
# throughout: nearly all have more than one in 50 bytes. Escape sequences are text.
_SAMPLE_BYTES = 65_536
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]+")
_FEW_PLACES = 8
_BYTES_PER_PLACE = 50


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end, counted from 1. `problem` says why it is not exactly what stands in the file."""

    number: int
    text: str
    problem: str | None = None


class NotText(Exception):
    """The file has zero bytes, and control characters throughout: it is no text, or in an encoding nothing tells."""


class Lines:
    """The lines of one file. A byte order mark decides the encoding; without one it is UTF-8.

    Raises NotText at once. A line that is not in the encoding is read as Windows-1252 and says so.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        first = next(pieces, b"")
        while len(first) < _SAMPLE_BYTES and (more := next(pieces, b"")):
            first += more
        marked = next((name for mark, name in _BYTE_ORDER_MARKS if first.startswith(mark)), None)
        if marked is None and _is_binary(first[:_SAMPLE_BYTES]):
            raise NotText
        self.encoding = (marked or _UTF8).removesuffix("-sig")
        pieces = chain([first], pieces)
        self._pieces = pieces if marked is None else _as_utf8(pieces, marked)

    def __iter__(self) -> Iterator[Line]:
        for number, data in enumerate(_split(self._pieces), start=1):
            if data is None:
                yield Line(number, "", f"is longer than {MOST_LINE_BYTES:,} bytes and was left out")
            else:
                yield _decoded(number, data)


def _is_binary(sample: bytes) -> bool:
    text, places = _CONTROL.subn(b"", sample)
    return b"\0" in sample and (not text or places > max(_FEW_PLACES, len(text) // _BYTES_PER_PLACE))


def _as_utf8(pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for piece in pieces:
        yield decoder.decode(piece).encode()
    yield decoder.decode(b"", final=True).encode()


def _split(pieces: Iterator[bytes]) -> Iterator[bytes | None]:
    """Yield line after line, however the pieces cut them; None for one that is too long."""
    rest, is_too_long = b"", False
    for piece in filter(None, pieces):
        lines = (rest + piece).splitlines(keepends=True)
        # A carriage return at the end of a piece may have its newline in the next.
        rest = b"" if lines[-1].endswith(b"\n") else lines.pop()
        for line in lines:
            yield None if is_too_long or len(line) > MOST_LINE_BYTES else line.rstrip(b"\r\n")
            is_too_long = False
        if len(rest) > MOST_LINE_BYTES:
            rest, is_too_long = b"", True
    if is_too_long:
        yield None
    elif rest:
        yield rest.rstrip(b"\r\n")


def _decoded(number: int, data: bytes) -> Line:
    problems = []
    try:
        text = data.decode(_UTF8)
    except UnicodeDecodeError:
        text = data.decode(_FALLBACK, "replace")
        problems.append(f"is not {_UTF8}: it was read as {_FALLBACK}")
    if "\0" in text:
        text = text.replace("\0", "")
        problems.append("holds zero bytes, which were dropped")
    if not problems and "\ufffd" in text:
        problems.append("holds characters that could not be read")
    return Line(number, text, "; ".join(problems) or None)
