"""The first bytes, or the whole, of files of many kinds."""

import io
import struct
import tarfile
import zipfile
from collections.abc import Mapping

OLE_MARK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def zipped(members: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def office(folder: str) -> bytes:
    """A package whose telling members come late, behind more than a head's worth of others."""
    media = {f"{folder}/media/picture{n}.bin": bytes(3_000) for n in range(40)}
    return zipped({**media, "[Content_Types].xml": b"<Types/>", "_rels/.rels": b"", f"{folder}/main.xml": b""})


def ole(stream: str) -> bytes:
    """A compound file whose directory, behind a hundred kilobytes, names one stream."""
    sector = 200
    header = bytearray(512)
    header[:8] = OLE_MARK
    struct.pack_into("<H", header, 30, 9)
    struct.pack_into("<L", header, 48, sector)
    entries = b"".join(_directory_entry(name) for name in ("Root Entry", stream))
    return bytes(header) + bytes(512 * sector) + entries + bytes(512)


def tarred(*, kind: int = tarfile.USTAR_FORMAT, compression: str = "") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=f"w:{compression}", format=kind) as archive:
        member = tarfile.TarInfo("a note.txt")
        member.size = 5
        archive.addfile(member, io.BytesIO(b"hello"))
    return file.getvalue()


def old_tar() -> bytes:
    """A tar from before the format had a mark: only its checksum tells."""
    block = bytearray(tarred())
    block[257:265] = bytes(8)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block[:512])
    return bytes(block)


def _directory_entry(name: str) -> bytes:
    text = name.encode("utf-16-le")
    entry = bytearray(128)
    entry[: len(text)] = text
    struct.pack_into("<H", entry, 64, len(text) + 2)
    return bytes(entry)
