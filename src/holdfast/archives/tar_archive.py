"""Members of a tar stream. The headers are read here, with bounds that this Python's tarfile lacks."""

import tarfile
from collections.abc import Iterator

from holdfast.archives.unpacking import Unpacking
from holdfast.errors import CorruptInput, UnsafeArchive

_BLOCK_BYTES = 512
# A header that describes the next one: longer than any honest name.
_MOST_HEADER_BYTES = 1 << 20

_REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_EXTENSIONS = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_REASONS = {
    **dict.fromkeys((tarfile.LNKTYPE, tarfile.SYMTYPE), "a link"),
    **dict.fromkeys((tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE), "a device"),
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}
_WITHOUT_DATA = (tarfile.DIRTYPE, *(kind for kind in _REASONS if kind != tarfile.GNUTYPE_SPARSE))


def is_tar(block: bytes) -> bool:
    """Whether a file that begins with this block is a tar archive: its header has a checksum."""
    return any(block) and _parse(block) is not None


def unpack_tar(pieces: Iterator[bytes], unpacking: Unpacking) -> None:
    """Hand every regular file to the unpacking; links and devices are skipped, never made."""
    stream = _Stream(pieces, unpacking.name)
    # What an extended header says about the member after it, such as a name too long for its own header.
    told: dict[str, str] = {}
    while (block := stream.take(_BLOCK_BYTES)) and any(block):
        info = _parse(block)
        if info is None:
            raise stream.damaged("the header of a member is wrong")
        if info.type in _EXTENSIONS:
            told |= _tell(info.type, stream.take_padded(info.size), stream)
        else:
            _unpack(stream, info, told, unpacking)
            told = {}
    if not block:
        unpacking.miss_end()


def _parse(block: bytes) -> tarfile.TarInfo | None:
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "replace")
    except (tarfile.HeaderError, ValueError, OverflowError):
        return None
    return info if info.size >= 0 else None


def _tell(kind: bytes, header: bytes, stream: "_Stream") -> dict[str, str]:
    if kind == tarfile.GNUTYPE_LONGNAME:
        return {"path": header.rstrip(b"\0").decode("utf-8", "replace")}
    told = {}
    while kind == tarfile.XHDTYPE and header:
        digits, _, rest = header.partition(b" ")
        length = int(digits) if digits.isdigit() and len(digits) < 10 else 0
        keyword, equals, value = rest[: length - len(digits) - 1].partition(b"=")
        if not equals or length > len(header):
            raise stream.damaged("an extended header is malformed")
        told[keyword.decode("utf-8", "replace")] = value.removesuffix(b"\n").decode("utf-8", "replace")
        header = header[length:]
    return told


def _unpack(stream: "_Stream", info: tarfile.TarInfo, told: dict[str, str], unpacking: Unpacking) -> None:
    name = told.get("path", info.name)
    unpacking.count()
    unpacking.check_path(name)
    size = int(told["size"]) if told.get("size", "").isdecimal() and len(told["size"]) < 20 else info.size
    is_regular = info.type in _REGULAR and not name.endswith("/")
    # As tarfile reads them: only what it does not know may carry data besides regular files.
    contents = stream.take_pieces(size if is_regular or info.type not in _WITHOUT_DATA else 0)
    if is_regular and not any(keyword.startswith("GNU.sparse") for keyword in told):
        unpacking.store(name, contents)
    elif info.type != tarfile.DIRTYPE:
        unpacking.skip(_REASONS.get(info.type, "of a kind that is not supported"), name)
    for _ in contents:
        pass


class _Stream:
    """Bytes in whatever pieces they come, taken in blocks."""

    def __init__(self, pieces: Iterator[bytes], name: str) -> None:
        self._pieces = pieces
        self._name = name
        self._held = memoryview(b"")

    def take(self, size: int) -> bytes:
        """Return so many bytes; fewer, that is none, only at the end."""
        taken = b"".join(self._up_to(size))
        if taken and len(taken) < size:
            raise self.damaged("it is cut off")
        return taken

    def take_padded(self, size: int) -> bytes:
        """Return the data of an extended header, and pass over what fills its last block."""
        if size > _MOST_HEADER_BYTES:
            raise UnsafeArchive(
                f"{self._name} has a header of {size:,} bytes: it is made to exhaust its reader",
                error_code="ARCHIVE_HEADER",
            )
        return b"".join(self.take_pieces(size))

    def take_pieces(self, size: int) -> Iterator[bytes]:
        """Yield the data of a member, and pass over what fills its last block."""
        missing = size
        for piece in self._up_to(size):
            missing -= len(piece)
            yield piece
        if missing:
            raise self.damaged("a member is cut off")
        self.take(-size % _BLOCK_BYTES)

    def damaged(self, what: str) -> CorruptInput:
        """Return the error that says what is wrong with this archive."""
        return CorruptInput(f"{self._name} is damaged: {what}", error_code="ARCHIVE_DAMAGED")

    def _up_to(self, size: int) -> Iterator[bytes]:
        while size > 0:
            if not self._held:
                self._held = memoryview(next(self._pieces, b""))
                if not self._held:
                    return
            piece, self._held = self._held[:size], self._held[size:]
            size -= len(piece)
            yield bytes(piece)
