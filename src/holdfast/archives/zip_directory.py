"""The directory of a ZIP file, read with suspicion: nothing in it is believed that the file itself contradicts."""

import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from holdfast.errors import CorruptInput, UnsafeArchive

_END = struct.Struct("<4s4H2LH")
_END_MARK = b"PK\x05\x06"
_WIDE_LOCATOR = struct.Struct("<4sLQL")
_WIDE_END = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_ENTRY_MARK = b"PK\x01\x02"
_LOCAL = struct.Struct("<4s22x2H")
_LOCAL_MARK = b"PK\x03\x04"
_MOST_COMMENT_BYTES = 65_535
_NOT_HERE = 0xFFFFFFFF
_WIDE_FIELDS = 1
_ENCRYPTED, _IS_UTF8 = 0x1, 0x800
_UNIX_SYSTEMS = (3, 19)


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """A member as the directory describes it. `start` is where its local header stands in the file."""

    name: str
    method: int
    flags: int
    checksum: int
    packed_bytes: int
    unpacked_bytes: int
    start: int
    mode: int

    @property
    def is_folder(self) -> bool:
        """Whether it is only a name for others."""
        return self.name.endswith("/")

    @property
    def is_encrypted(self) -> bool:
        """Whether a password is needed."""
        return bool(self.flags & _ENCRYPTED)

    @property
    def is_file(self) -> bool:
        """Whether it is neither a link nor a device."""
        return stat.S_IFMT(self.mode) in (0, stat.S_IFREG)


@dataclass(frozen=True, slots=True)
class _Directory:
    start: int
    end: int
    # What stands before the archive, such as a program that unpacks it: offsets do not count it.
    before: int


def read_entries(file: BinaryIO, name: str) -> Iterator[ZipEntry]:
    """Yield the members in the order of the directory, or raise CorruptInput saying what is damaged."""
    directory = _find_directory(file, name)
    at = directory.start
    while at < directory.end:
        file.seek(at)
        fixed = file.read(_ENTRY.size)
        if len(fixed) < _ENTRY.size or not fixed.startswith(_ENTRY_MARK):
            raise _damaged(name, f"its directory breaks off at byte {at:,}")
        lengths = _ENTRY.unpack(fixed)[10:13]
        variable = file.read(sum(lengths))
        at += len(fixed) + sum(lengths)
        yield _entry(fixed, variable, directory.before)


def locate_data(file: BinaryIO, entries: list[ZipEntry], name: str) -> list[int]:
    """Return where each entry's data begins. Raises UnsafeArchive if two share bytes: that is how bombs are built."""
    size = file.seek(0, os.SEEK_END)
    for entry in entries:
        if entry.start >= size:
            raise _damaged(name, f"its member {entry.name!r} is said to stand behind its end")
    starts = [_data_start(file, entry, name) for entry in entries]
    end_before, name_before = 0, ""
    for entry, start in sorted(zip(entries, starts, strict=True), key=lambda pair: pair[0].start):
        if entry.start < end_before:
            raise UnsafeArchive(
                f"the members {name_before!r} and {entry.name!r} of {name} overlap: it is made to exhaust its reader",
                error_code="ARCHIVE_OVERLAP",
            )
        end_before, name_before = start + entry.packed_bytes, entry.name
    return starts


def _data_start(file: BinaryIO, entry: ZipEntry, name: str) -> int:
    file.seek(entry.start)
    local = file.read(_LOCAL.size)
    if len(local) < _LOCAL.size or not local.startswith(_LOCAL_MARK):
        raise _damaged(name, f"its member {entry.name!r} is not where the directory says")
    _, name_bytes, extra_bytes = _LOCAL.unpack(local)
    return entry.start + _LOCAL.size + int(name_bytes) + int(extra_bytes)


def _find_directory(file: BinaryIO, name: str) -> _Directory:
    size = file.seek(0, os.SEEK_END)
    tail_start = max(0, size - _END.size - _MOST_COMMENT_BYTES)
    file.seek(tail_start)
    tail = file.read()
    at = tail.rfind(_END_MARK)
    if at < 0 or len(tail) - at < _END.size:
        raise _damaged(name, "its directory is missing, so it was probably cut off")
    _, disk, _, _, _, length, offset, _ = _END.unpack_from(tail, at)
    end = tail_start + at
    if disk not in (0, 0xFFFF):
        raise _damaged(name, "it is one part of several: join them first")
    if wide := _find_wide(file, end):
        end, length, offset = wide
    before = end - length - offset
    if before < 0:
        raise _damaged(name, "its directory is not where it says")
    return _Directory(end - length, end, before)


def _find_wide(file: BinaryIO, end: int) -> tuple[int, int, int] | None:
    """Return end, length and offset of the directory as an archive beyond 4 GB or 65,535 members writes them."""
    start = end - _WIDE_LOCATOR.size - _WIDE_END.size
    if start < 0:
        return None
    file.seek(start)
    record = file.read(_WIDE_END.size + _WIDE_LOCATOR.size)
    if not record.startswith(b"PK\x06\x06") or not record[_WIDE_END.size :].startswith(b"PK\x06\x07"):
        return None
    *_, length, offset = _WIDE_END.unpack_from(record)
    return start, length, offset


def _entry(fixed: bytes, variable: bytes, before: int) -> ZipEntry:
    (_, made_by, _, flags, method, _, _, checksum, packed, unpacked, *rest) = _ENTRY.unpack(fixed)
    name_bytes, extra_bytes, _, _, _, attributes, offset = rest
    extra = variable[name_bytes : name_bytes + extra_bytes]
    unpacked, packed, offset = _widened(extra, unpacked, packed, offset)
    return ZipEntry(
        # As the format demands; programs on Windows wrote it the other way for years.
        name=_decode(variable[:name_bytes], flags).replace("\\", "/"),
        method=method,
        flags=flags,
        checksum=checksum,
        packed_bytes=packed,
        unpacked_bytes=unpacked,
        start=before + offset,
        mode=attributes >> 16 if made_by >> 8 in _UNIX_SYSTEMS else 0,
    )


def _widened(extra: bytes, *fields: int) -> Iterator[int]:
    """Yield the fields, those that did not fit taken from the extra field made for them."""
    wide = iter(_wide_numbers(extra))
    for field in fields:
        yield next(wide, field) if field == _NOT_HERE else field


def _wide_numbers(extra: bytes) -> tuple[int, ...]:
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<2H", extra)
        if kind == _WIDE_FIELDS:
            field = extra[4 : 4 + length]
            return struct.unpack_from(f"<{len(field) // 8}Q", field)
        extra = extra[4 + length :]
    return ()


def _decode(name: bytes, flags: int) -> str:
    """The name; UTF-8 where it says so or is so, else as the first ZIP programs wrote it."""
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("utf-8", "replace") if flags & _IS_UTF8 else name.decode("cp437")


def _damaged(name: str, what: str) -> CorruptInput:
    return CorruptInput(f"{name} is damaged: {what}", error_code="ARCHIVE_DAMAGED")
