"""How the streams of an old Office container begin: enough to tell what their readers do not."""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

_MARK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_NO_SECTOR = 0xFFFFFFFA  # and whatever is greater
_ENTRY = struct.Struct("<64sH2x3L36x2L4x")
_SHORT_STREAM_BYTES, _SHORT_SECTOR_BYTES = 4096, 64
_MOST_ENTRIES = 1 << 13


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of the directory, which is a tree."""

    name: str
    before: int
    after: int
    child: int
    start: int
    length: int


class OleStreams:
    """The streams of the document itself, not of those inside it. What is damaged has none."""

    def __init__(self, file: BinaryIO) -> None:
        file.seek(0)
        self._file, self._head = file, file.read(512).ljust(512, b"\0")
        self._shift = self._number(30) & 0xFFFF if self._head.startswith(_MARK) else 0
        # Nothing in it can be longer than it is: what is leads in circles.
        self._sectors = file.seek(0, os.SEEK_END) >> self._shift
        self._tables = list(islice(self._locate_tables(), self._most_tables)) if self._shift in (9, 12) else []
        self._entries = list(self._read_entries()) if self._tables else []

    def beginning_of(self, name: str) -> bytes:
        """The first 64 bytes; nothing where there is no such stream. Names are the same in capitals."""
        found = next((entry for entry in self._of_root() if entry.name.lower() == name.lower()), None)
        if found is None:
            return b""
        if found.length >= _SHORT_STREAM_BYTES:
            return self._sector(found.start)[:_SHORT_SECTOR_BYTES]
        # Short ones lie in sectors of their own size, within the stream of the root.
        skipped, at = divmod(found.start * _SHORT_SECTOR_BYTES, 1 << self._shift)
        around = next(islice(self._chain(self._entries[0].start), skipped, None), _NO_SECTOR)
        return self._sector(around)[at : at + min(found.length, _SHORT_SECTOR_BYTES)]

    @property
    def _most_tables(self) -> int:
        return (self._sectors >> self._shift - 2) + 1

    def _number(self, at: int) -> int:
        return int.from_bytes(self._head[at : at + 4], "little")

    def _sector(self, number: int) -> bytes:
        if number >= _NO_SECTOR:
            return b""
        self._file.seek((number + 1) << self._shift)
        return self._file.read(1 << self._shift)

    def _locate_tables(self) -> Iterator[int]:
        """Where the tables are that say which sector follows which: 109 stand in the head, the rest in a chain."""
        yield from struct.unpack("<109L", self._head[76:])
        at = self._number(68)
        for _ in range(self._sectors):
            *tables, at = struct.unpack(f"<{1 << self._shift - 2}L", self._sector(at).ljust(1 << self._shift, b"\xff"))
            yield from tables
            if at >= _NO_SECTOR:
                return

    def _chain(self, sector: int) -> Iterator[int]:
        for _ in range(self._sectors):
            if sector >= _NO_SECTOR:
                return
            yield sector
            table, at = divmod(sector * 4, 1 << self._shift)
            following = self._sector(self._tables[table])[at : at + 4] if table < len(self._tables) else b""
            sector = int.from_bytes(following.ljust(4, b"\xff"), "little")

    def _read_entries(self) -> Iterator[_Entry]:
        for sector in islice(self._chain(self._number(48)), _MOST_ENTRIES * _ENTRY.size >> self._shift):
            data = self._sector(sector)
            for name, length, *rest in _ENTRY.iter_unpack(data[: len(data) // _ENTRY.size * _ENTRY.size]):
                yield _Entry(name[: max(0, min(length, 64) - 2)].decode("utf-16-le", "replace"), *rest)

    def _of_root(self) -> Iterator[_Entry]:
        waiting, seen = [entry.child for entry in self._entries[:1]], set[int]()
        while waiting:
            number = waiting.pop()
            if number < len(self._entries) and number not in seen:
                seen.add(number)
                yield self._entries[number]
                waiting += [self._entries[number].before, self._entries[number].after]
