"""Opens an archive of whatever kind: zip, tar, compressed tar, or a single compressed file."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path, PurePosixPath

from holdfast.archives.compression import Progress, decompress, find_decompressor, read_pieces
from holdfast.archives.tar_archive import is_tar, unpack_tar
from holdfast.archives.unpacking import Unpacking
from holdfast.archives.zip_archive import unpack_zip
from holdfast.errors import CorruptInput

_HEAD_BYTES = 512
# A tar without members is one record of zero bytes.
_TAR_RECORD_BYTES = 10_240
_ZIP_MARKS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_NAME_FLAG, _EXTRA_FLAG = 0x08, 0x04


def is_archive(path: Path) -> bool:
    """Whether the first bytes of a file are those of something that `unpack` opens."""
    head = _head(path)
    return head.startswith(_ZIP_MARKS) or find_decompressor(head, 0) is not None or is_tar(head)


def unpack(unpacking: Unpacking, progress: Progress) -> None:
    """Stream every member out. Which kind of archive it is, its first bytes say.

    A member that tries to get out, or an archive out of all proportion, condemns the whole; links, devices and what
    needs a password are left out.
    """
    head = _head(unpacking.archive)
    if head.startswith(_ZIP_MARKS):
        unpack_zip(unpacking, progress)
    else:
        _unpack_stream(head, unpacking, progress)


def _unpack_stream(head: bytes, unpacking: Unpacking, progress: Progress) -> None:
    pieces = read_pieces(unpacking.archive, progress)
    start = find_decompressor(head, unpacking.limits.decompressor_bytes)
    if start:
        pieces = _within(decompress(pieces, start, unpacking.name), unpacking)
    first, pieces = _peek(pieces)
    if is_tar(first[:_HEAD_BYTES]) or _is_empty_tar(first):
        unpack_tar(pieces, unpacking)
    elif start:
        unpacking.store(_inner_name(unpacking.name, head), pieces)
    else:
        raise CorruptInput(f"{unpacking.name} is neither zip nor tar nor compressed", error_code="NOT_AN_ARCHIVE")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)


def _within(pieces: Iterator[bytes], unpacking: Unpacking) -> Iterator[bytes]:
    """Yield the pieces, and stop a bomb also where nothing of it would be kept."""
    total = 0
    for piece in pieces:
        total += len(piece)
        unpacking.check_total(total)
        yield piece


def _peek(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the beginning, longer than a record if there is that much, and the pieces from there."""
    first = b""
    while len(first) <= _TAR_RECORD_BYTES and (piece := next(pieces, b"")):
        first += piece
    return first, chain([first], pieces)


def _is_empty_tar(content: bytes) -> bool:
    return 0 < len(content) <= _TAR_RECORD_BYTES and len(content) % _HEAD_BYTES == 0 and not any(content)


def _inner_name(name: str, head: bytes) -> str:
    """The name of the file in a compressed one: as gzip kept it, else the outer name without its ending."""
    if head.startswith(b"\x1f\x8b") and head[3] & _NAME_FLAG and not head[3] & _EXTRA_FLAG:
        kept, end, _ = head[10:].partition(b"\0")
        if end and kept:
            return PurePosixPath(kept.decode("latin-1").replace("\\", "/")).name or "content"
    path = PurePosixPath(name)
    return path.stem if path.suffix else f"{path.name}.content"
