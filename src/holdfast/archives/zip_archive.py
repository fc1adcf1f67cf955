"""Members of a ZIP file, streamed out one by one."""

import bz2
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

from holdfast.archives.compression import Decompressor, Inflate, Progress, decompress
from holdfast.archives.names import printable
from holdfast.archives.unpacking import Unpacking
from holdfast.archives.zip_directory import ZipEntry, locate_data, read_entries
from holdfast.errors import CorruptInput, EncryptedInput, UnsafeArchive

_PIECE_BYTES = 1 << 20
_STORED = 0
_METHODS: dict[int, Callable[[], Decompressor]] = {8: lambda: Inflate(-15), 12: bz2.BZ2Decompressor}
_SUPPORTED = frozenset({_STORED, *_METHODS})


def unpack_zip(unpacking: Unpacking, progress: Progress) -> None:
    """Hand every member to the unpacking, after the whole directory was found harmless."""
    with unpacking.archive.open("rb") as file:
        entries = []
        for entry in read_entries(file, unpacking.name):
            unpacking.count()
            unpacking.check_path(entry.name)
            if not entry.is_folder:
                entries.append(entry)
        unpacking.check_total(sum(entry.unpacked_bytes for entry in entries))
        starts = locate_data(file, entries, unpacking.name)
        _refuse_encrypted(entries, unpacking.name)
        for number, (entry, start) in enumerate(zip(entries, starts, strict=True), start=1):
            _unpack(file, entry, start, unpacking)
            progress(number / len(entries))


def read_member(file: BinaryIO, entry: ZipEntry, start: int) -> Iterator[bytes]:
    """Yield the content of one member, a megabyte at most at a time.

    Raises CorruptInput if it is damaged, UnsafeArchive if it has another size than the directory says.
    """
    if entry.method not in _SUPPORTED:
        raise CorruptInput(
            f"{printable(entry.name)} is packed by method {entry.method}, which is not supported",
            error_code="ARCHIVE_METHOD",
        )
    pieces = _packed(file, entry, start)
    if entry.method != _STORED:
        pieces = decompress(pieces, _METHODS[entry.method], printable(entry.name))
    yield from _verified(pieces, entry)


def _refuse_encrypted(entries: list[ZipEntry], name: str) -> None:
    if entries and all(entry.is_encrypted for entry in entries):
        raise EncryptedInput(
            f"{name} needs a password for its members, such as {printable(entries[0].name)!r}: submit it without one",
            error_code="ARCHIVE_ENCRYPTED",
        )


def _unpack(file: BinaryIO, entry: ZipEntry, start: int, unpacking: Unpacking) -> None:
    if not entry.is_file:
        unpacking.skip("a link or device", entry.name)
    elif entry.is_encrypted:
        unpacking.skip("needs a password", entry.name)
    elif entry.method in _SUPPORTED:
        unpacking.store(entry.name, read_member(file, entry, start))
    else:
        unpacking.skip(f"packed by method {entry.method}, which is not supported", entry.name)


def _packed(file: BinaryIO, entry: ZipEntry, start: int) -> Iterator[bytes]:
    file.seek(start)
    missing = entry.packed_bytes
    while missing > 0:
        piece = file.read(min(missing, _PIECE_BYTES))
        if not piece:
            raise CorruptInput(f"{printable(entry.name)} is cut off", error_code="ARCHIVE_DAMAGED")
        missing -= len(piece)
        yield piece


def _verified(pieces: Iterator[bytes], entry: ZipEntry) -> Iterator[bytes]:
    """Yield the pieces, and raise if they are not what the directory says."""
    size, checksum = 0, 0
    for piece in pieces:
        size += len(piece)
        checksum = zlib.crc32(piece, checksum)
        if size > entry.unpacked_bytes:
            break
        yield piece
    if size != entry.unpacked_bytes:
        raise UnsafeArchive(
            f"{printable(entry.name)} does not have the {entry.unpacked_bytes:,} bytes that the archive says",
            error_code="ARCHIVE_SIZE_LIES",
        )
    if checksum != entry.checksum:
        raise CorruptInput(f"{printable(entry.name)} is damaged: its checksum is wrong", error_code="ARCHIVE_DAMAGED")
