"""Tells what a file is from its content; its name only decides between kinds of text."""

from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import filetype

from holdfast.intake import containers
from holdfast.intake.mpeg_frames import begins_with_frames
from holdfast.intake.names import extension_of
from holdfast.intake.text_kinds import kind_of_text, read_leniently, read_strictly

UNKNOWN = "application/octet-stream"
PDF = "application/pdf"

_HEAD_BYTES = 64 * 1024
# Readers of PDF accept this much before the header.
_PDF_LEAD_BYTES = 1024
_USUAL_NAMES = {
    "audio/x-flac": "audio/flac",
    "audio/x-wav": "audio/wav",
    "audio/x-aiff": "audio/aiff",
    "video/x-m4v": "video/mp4",
}


def sniff(head: bytes, name: str) -> str:
    """The media type of a file that begins with `head`. Documents inside a ZIP may be told apart by the whole only."""
    return sniff_stream(BytesIO(head), name)


def sniff_file(path: Path, name: str) -> str:
    """The media type of a file known as `name`. Reads little, however large the file and whatever it claims."""
    with path.open("rb") as file:
        return sniff_stream(file, name)


def sniff_stream(file: BinaryIO, name: str) -> str:
    """The media type of what a seekable stream holds; application/octet-stream if nothing tells."""
    file.seek(0)
    head = file.read(_HEAD_BYTES)
    return _packed(file, head, name) or _as_text(read_strictly(head), name) or _binary(head) or _loose(head, name)


def _packed(file: BinaryIO, head: bytes, name: str) -> str | None:
    """What only a look inside can name. A PDF comes first: it may have a ZIP behind it."""
    if head.startswith(b"%PDF-"):
        return PDF
    if head.startswith(containers.ZIP_MARKS):
        return containers.kind_of_zip(file, head, extension_of(name))
    if head.startswith(containers.OLE_MARK):
        return containers.kind_of_ole(file, head, extension_of(name))
    if containers.is_tar(head):
        return containers.TAR
    return None


def _as_text(text: str | None, name: str) -> str | None:
    return None if text is None else kind_of_text(text, extension_of(name))


def _binary(head: bytes) -> str | None:
    """By signature. Asked after the strict reading, because some signatures are words that texts begin with."""
    kind = filetype.guess(head)
    if kind is not None:
        return _USUAL_NAMES.get(kind.mime, str(kind.mime))
    if head[4:8] == b"ftyp":
        return "video/mp4"
    if begins_with_frames(head):
        return "audio/mpeg"
    return PDF if b"%PDF-" in head[:_PDF_LEAD_BYTES] else None


def _loose(head: bytes, name: str) -> str:
    return _as_text(read_leniently(head), name) or UNKNOWN
