"""Archives: zip, tar, compressed tar and single compressed files become members, each a document of its own."""

from collections.abc import Iterator
from itertools import chain
from pathlib import PurePosixPath

from holdfast.errors import CorruptInput, EmptyText
from holdfast.extract.readers.compression import decompress, find_decompressor, read_pieces
from holdfast.extract.readers.tar_archive import is_tar, unpack_tar
from holdfast.extract.readers.unpacking import ArchiveLimits, Unpacking
from holdfast.extract.readers.zip_archive import unpack_zip
from holdfast.extract.reading import Progress, Reading, Source

DEFAULT_LIMITS = ArchiveLimits()

_HEAD_BYTES = 512
_ZIP_MARKS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_NAME_FLAG, _EXTRA_FLAG = 0x08, 0x04


def read_archive(
    source: Source, reading: Reading, progress: Progress, *, limits: ArchiveLimits = DEFAULT_LIMITS
) -> None:
    """Stream the members into the scratch folder and list them as the text.

    Which kind of archive it is, its first bytes say. A member that tries to get out, or an archive out of all
    proportion, condemns the whole; links, devices and what needs a password are left out with a warning.
    """
    reading.extractor = "archive"
    reading.has_headings = False
    reading.title = source.name
    unpacking = Unpacking(source, reading, limits)
    with source.path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(_ZIP_MARKS):
        unpack_zip(source, unpacking, progress)
    else:
        _unpack_stream(source, head, unpacking, progress, limits)
    unpacking.report()
    if not reading.members:
        raise EmptyText(f"{source.name} holds no file that can be read", error_code="NO_MEMBERS")
    unpacking.write_list(f"Files in {source.name}:")


def _unpack_stream(
    source: Source, head: bytes, unpacking: Unpacking, progress: Progress, limits: ArchiveLimits
) -> None:
    pieces = read_pieces(source.path, progress)
    start = find_decompressor(head, limits.decompressor_bytes)
    if start:
        pieces = _within(decompress(pieces, start, source.name), unpacking)
    first, pieces = _peek(pieces)
    if is_tar(first):
        unpack_tar(pieces, source.name, unpacking)
    elif start:
        unpacking.store(_inner_name(source.name, head), pieces)
    else:
        raise CorruptInput(f"{source.name} is neither zip nor tar nor compressed", error_code="NOT_AN_ARCHIVE")


def _within(pieces: Iterator[bytes], unpacking: Unpacking) -> Iterator[bytes]:
    """Yield the pieces, and stop a bomb also where nothing of it would be kept."""
    total = 0
    for piece in pieces:
        total += len(piece)
        unpacking.check_total(total)
        yield piece


def _peek(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    first = b""
    while len(first) < _HEAD_BYTES and (piece := next(pieces, b"")):
        first += piece
    return first[:_HEAD_BYTES], chain([first], pieces)


def _inner_name(name: str, head: bytes) -> str:
    """The name of the file in a compressed one: as gzip kept it, else the outer name without its ending."""
    if head.startswith(b"\x1f\x8b") and head[3] & _NAME_FLAG and not head[3] & _EXTRA_FLAG:
        kept, end, _ = head[10:].partition(b"\0")
        if end and kept:
            return PurePosixPath(kept.decode("latin-1").replace("\\", "/")).name or "content"
    path = PurePosixPath(name)
    return path.stem if path.suffix else f"{path.name}.content"
