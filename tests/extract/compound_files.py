"""Compound files, in which Office kept its documents until 2003, written sector by sector."""

import struct
from collections.abc import Mapping

_SECTOR, _SHORT_SECTOR = 512, 64
_END_OF_CHAIN, _FREE, _FAT_SECTOR = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_SMALLEST_STREAM = 4096  # of those that are kept in whole sectors


def compound_file(name: str, stream: bytes) -> bytes:
    """One whose stream has sectors of its own."""
    return compound_file_of({name: stream})


def compound_file_of(streams: Mapping[str, bytes]) -> bytes:
    """One of up to three streams, each with sectors of its own."""
    # Readers look names up in a tree, in which shorter ones come before longer ones.
    names = sorted(streams, key=lambda name: (len(name), name.upper()))
    padded = [_whole_sectors(streams[name].ljust(_SMALLEST_STREAM, b"\0")) for name in names]
    directory = _directory_entry("Root Entry", 5, child=1, start=_END_OF_CHAIN, size=0)
    start = 2
    for number, (name, stream) in enumerate(zip(names, padded, strict=True), 1):
        after = number + 1 if number < len(names) else _FREE
        directory += _directory_entry(name, 2, child=_FREE, start=start, size=len(stream), after=after)
        start += len(stream) // _SECTOR
    return _written(directory, *padded)


def compound_file_of_little(name: str, stream: bytes, *, at: int) -> bytes:
    """One whose stream is so short that it lies in the root's, behind this many others."""
    around = bytes(at * _SHORT_SECTOR) + stream
    root = _directory_entry("Root Entry", 5, child=1, start=2, size=len(around))
    return _written(root + _directory_entry(name, 2, child=_FREE, start=at, size=len(stream)), _whole_sectors(around))


def _written(directory: bytes, *streams: bytes) -> bytes:
    """Its table of sectors first, then its directory, then the streams."""
    table = [_FAT_SECTOR, _END_OF_CHAIN]
    for stream in streams:
        table += [*range(len(table) + 1, len(table) + len(stream) // _SECTOR), _END_OF_CHAIN]
    table += [_FREE] * (_SECTOR // 4 - len(table))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<5H6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack("<9I", 0, 1, 1, 0, _SMALLEST_STREAM, _END_OF_CHAIN, 0, _END_OF_CHAIN, 0)
    header += struct.pack("<109I", 0, *[_FREE] * 108)
    return header + struct.pack("<128I", *table) + directory.ljust(_SECTOR, b"\0") + b"".join(streams)


def _whole_sectors(stream: bytes) -> bytes:
    return stream + bytes(-len(stream) % _SECTOR)


def _directory_entry(name: str, kind: int, *, child: int, start: int, size: int, after: int = _FREE) -> bytes:
    written = name.encode("utf-16-le")
    head = struct.pack("<64sHBB3I", written, len(written) + 2, kind, 1, _FREE, after, child)
    return head + bytes(36) + struct.pack("<IQ", start, size)
