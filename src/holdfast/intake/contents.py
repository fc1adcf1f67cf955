"""Gathers what a source found on its way into the artifact store, a piece at a time."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from holdfast.artifacts.spool import Spool
from holdfast.artifacts.upload import Upload
from holdfast.errors import TooLarge
from holdfast.intake.found import Found
from holdfast.intake.media_type import sniff_stream
from holdfast.intake.standing import Standing

_CHUNK_BYTES = 1 << 20
# Never waits for a pipe to be opened at its other end, never follows a link put in the place of a file.
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Unreadable(Exception):
    """The source cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Content:
    """What is ready to be stored, and what kind of document it is; `is_known`: it stands there already, and failed."""

    spool: Spool
    media_type: str
    is_known: bool


def spool_content(upload: Upload, found: Found, *, standing: Standing | None, most_bytes: int) -> Content | None:
    """Gather the bytes, hashed on the way and never whole in memory; None if they are what stands there already.

    Raises Unreadable for the source's trouble, TooLarge beyond `most_bytes`, and what the store raises for its own.
    """
    with _opened(found, most_bytes) as file:
        if standing is not None and _is_unchanged(file, standing):
            return None
        file.seek(0)
        spool = upload.spool(_chunks(file), most_bytes=most_bytes)
        is_known = standing is not None and standing.holds(spool.artifact.hash)
        return Content(spool, sniff_stream(file, found.name), is_known)


def refuse_size(name: str, size: int, *, most_bytes: int) -> None:
    """Raise TooLarge beyond the limit."""
    if size > most_bytes:
        raise TooLarge(
            f"{name} has at least {size:,} bytes, {most_bytes:,} are allowed: raise HOLDFAST_MOST_FILE_MB or split it",
            error_code="SOURCE_TOO_LARGE",
        )


@contextmanager
def _opened(found: Found, most_bytes: int) -> Iterator[BinaryIO]:
    """The content as a stream that can be read more than once."""
    if isinstance(found.content, Path):
        with _open_file(found.content) as file:
            refuse_size(found.name, os.fstat(file.fileno()).st_size, most_bytes=most_bytes)
            yield file
        return
    assert found.content is not None
    with tempfile.TemporaryFile() as spooled:
        size = 0
        for chunk in _chunks(found.content):
            size += len(chunk)
            refuse_size(found.name, size, most_bytes=most_bytes)
            spooled.write(chunk)
        yield cast(BinaryIO, spooled)


def _open_file(path: Path) -> BinaryIO:
    try:
        descriptor = os.open(path, _OPEN_FLAGS)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Unreadable("not a regular file")
    return os.fdopen(descriptor, "rb")


def _is_unchanged(file: BinaryIO, standing: Standing) -> bool:
    """Read to compare only where the size leaves it open; what failed is put again, for its object may be damaged."""
    if standing.has_failed or standing.size != file.seek(0, os.SEEK_END):
        return False
    file.seek(0)
    digest = hashlib.sha256()
    for chunk in _chunks(file):
        digest.update(chunk)
    return standing.holds(digest.hexdigest())


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    """The rest of the stream. A failing read is the source's trouble, not the store's."""
    while True:
        try:
            chunk = file.read(_CHUNK_BYTES)
        except OSError as error:
            raise Unreadable(error.strerror or str(error)) from error
        if not chunk:
            return
        yield chunk
