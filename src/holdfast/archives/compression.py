"""Compressed streams opened in small pieces: gzip, bzip2 and xz, however many streams follow each other."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeAlias

from holdfast.errors import CorruptInput, UnsafeArchive

Progress: TypeAlias = Callable[[float], None]

_PIECE_BYTES = 1 << 20


class Decompressor(Protocol):
    """What bz2 and lzma offer: give it bytes, take at most so many, until it ends."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class Inflate:
    """zlib in the same shape. `window_bits` as zlib counts them: -15 for raw deflate, 31 for gzip."""

    def __init__(self, window_bits: int) -> None:
        self._inflate = zlib.decompressobj(window_bits)
        # It may hold back output although it has taken all input.
        self._is_full = False

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def needs_input(self) -> bool:
        return not self._is_full and not self._inflate.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        unfolded = self._inflate.decompress(self._inflate.unconsumed_tail + data, max(0, max_length))
        self._is_full = len(unfolded) == max_length
        return unfolded


def find_decompressor(head: bytes, most_memory: int) -> Callable[[], Decompressor] | None:
    """Return how to open a file that begins like this, or None if it is not compressed."""
    if head.startswith(b"\x1f\x8b"):
        return lambda: Inflate(31)
    if head.startswith(b"BZh"):
        return bz2.BZ2Decompressor
    if head.startswith(b"\xfd7zXZ\0"):
        return lambda: lzma.LZMADecompressor(memlimit=most_memory)
    return None


def read_pieces(path: Path, progress: Progress) -> Iterator[bytes]:
    """Yield the file as it is."""
    size = path.stat().st_size
    with path.open("rb") as file:
        while data := file.read(_PIECE_BYTES):
            yield data
            progress(file.tell() / size)


def decompress(pieces: Iterator[bytes], start: Callable[[], Decompressor], name: str) -> Iterator[bytes]:
    """Yield what the pieces unfold to, a megabyte at most at a time.

    Raises CorruptInput if they are damaged or end too early, UnsafeArchive if they ask for too much memory.
    """
    try:
        yield from _decompress(pieces, start)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the disk, not of bz2, which knows no better name for damage
        if "Memory usage limit" in str(error):
            text = f"{name} asks for more memory to be unpacked than is allowed: pack it with a smaller dictionary"
            raise UnsafeArchive(text, error_code="ARCHIVE_WINDOW") from error
        raise CorruptInput(f"{name} is damaged: {error}", error_code="ARCHIVE_DAMAGED") from error


def _decompress(pieces: Iterator[bytes], start: Callable[[], Decompressor]) -> Iterator[bytes]:
    stream, is_whole = start(), False
    for piece in pieces:
        data = piece
        while data or not stream.needs_input:
            if stream.eof:
                data = data.lstrip(b"\0")  # padding between streams
                if not data:
                    break
                stream, is_whole = start(), False
            if unfolded := stream.decompress(data, _PIECE_BYTES):
                yield unfolded
            data = stream.unused_data if stream.eof else b""
            is_whole = stream.eof
    if not is_whole:
        raise EOFError("it ends too early")
