"""Archives built by hand, honest and hostile."""

import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


def zip_of(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An ordinary ZIP file."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return written.getvalue()


def tar_of(
    members: Iterable[tarfile.TarInfo | tuple[str, bytes]], mode: str = "w", style: int = tarfile.PAX_FORMAT
) -> bytes:
    """A tar file, compressed as the mode says."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode=mode, format=style) as archive:  # type: ignore[call-overload]
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            name, content = member
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return written.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """A member of a tar file that is no regular file."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@dataclass(frozen=True, slots=True)
class Entry:
    """A member of a ZIP file as its directory describes it, true or not. `offset` defaults to where it is."""

    name: bytes
    content: bytes = b"content"
    unpacked: int | None = None
    offset: int | None = None
    flags: int = 0
    method: int = 8
    mode: int = 0
    extra: bytes = b""


def forged_zip(entries: Iterable[Entry]) -> bytes:
    """A ZIP file whose directory says what it is told to say."""
    body, directory, count = bytearray(), bytearray(), 0
    for entry in entries:
        count += 1
        packed = _deflated(entry.content) if entry.method == 8 else entry.content
        unpacked = len(entry.content) if entry.unpacked is None else entry.unpacked
        offset = len(body) if entry.offset is None else entry.offset
        sizes = (zlib.crc32(entry.content), len(packed), unpacked)
        common = (20, entry.flags, entry.method, 0, 0, *sizes, len(entry.name))
        body += struct.pack("<4s5H3L2H", b"PK\x03\x04", *common, 0) + entry.name + packed
        directory += struct.pack(
            "<4s6H3L5H2L", b"PK\x01\x02", 0x0314, *common, len(entry.extra), 0, 0, 0, entry.mode << 16, offset
        )
        directory += entry.name + entry.extra
    end = (0, 0, min(count, 0xFFFF), min(count, 0xFFFF), len(directory), len(body), 0)
    return bytes(body + directory) + struct.pack("<4s4H2LH", b"PK\x05\x06", *end)


def overlapping_zip(copies: int) -> bytes:
    """A bomb whose directory names one and the same member many times."""
    return forged_zip(
        [
            Entry(b"kernel", b"\0" * 1_000_000),
            *(Entry(b"copy %d" % number, b"", 1_000_000, 0) for number in range(copies)),
        ]
    )


def xz_with_window(content: bytes, window: int) -> bytes:
    """A compressed file that makes its reader hold a window of this size."""
    return lzma.compress(content, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": window}])


def _deflated(content: bytes) -> bytes:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    return compressor.compress(content) + compressor.flush()
