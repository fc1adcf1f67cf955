"""Mailboxes: a file of messages one after the other, each of which becomes a member."""

import re
from collections.abc import Iterator
from itertools import groupby

from holdfast.archives.unpacking import ArchiveLimits, Unpacking
from holdfast.extract.readers.member_files import MemberFiles
from holdfast.extract.reading import Progress, Reading, Source

_MOST_LINE_BYTES = 1 << 20
_SEPARATOR = b"From "
_QUOTED_SEPARATOR = re.compile(rb">+From ")


def read_mailbox(source: Source, reading: Reading, progress: Progress) -> None:
    """Stream every message into a file of its own, and list them as the text."""
    reading.extractor = "mailbox"
    reading.has_headings = False
    reading.title = source.name
    files = MemberFiles(source, reading)
    unpacking = Unpacking(source.path, source.name, limits=ArchiveLimits(), take=files.take)
    for number, lines in groupby(_lines(source, progress), key=_Numbering()):
        unpacking.count()
        unpacking.store(f"message {number:05}.eml", _message(lines))
    files.report(unpacking)
    files.write_list(f"Messages in {source.name}:")


def _lines(source: Source, progress: Progress) -> Iterator[bytes]:
    size = source.path.stat().st_size
    with source.path.open("rb") as file:
        while line := file.readline(_MOST_LINE_BYTES):
            if line.startswith(_SEPARATOR):
                progress(file.tell() / size)
            yield line


def _message(lines: Iterator[bytes]) -> Iterator[bytes]:
    first = next(lines)
    if not first.startswith(_SEPARATOR):
        yield first
    yield from map(_unquoted, lines)


def _unquoted(line: bytes) -> bytes:
    return line[1:] if _QUOTED_SEPARATOR.match(line) else line


class _Numbering:
    """Tells for each line which message it belongs to. A message begins with `From ` after an empty line."""

    def __init__(self) -> None:
        self._number = 0
        self._is_after_blank = True

    def __call__(self, line: bytes) -> int:
        if self._is_after_blank and line.startswith(_SEPARATOR):
            self._number += 1
        self._is_after_blank = not line.strip()
        return self._number
