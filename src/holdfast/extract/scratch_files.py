"""Opens what a child wrote, without trusting the child: only plain files inside its folder."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from holdfast.errors import CorruptInput

_WINDOW_BYTES = 1 << 20


def open_inside(folder: Path, path: str) -> BinaryIO:
    """Open a plain file at or below `folder` for reading; CorruptInput if it is anything else.

    No link is followed at any step, so that a child that was taken over cannot make the worker store foreign files.
    """
    parts = PurePosixPath(path).relative_to(folder).parts if path.startswith(f"{folder}/") else ()
    if not parts or ".." in parts:
        raise _refusal(path)
    try:
        descriptor = _descend(folder, parts)
    except OSError as error:
        raise _refusal(path) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _refusal(path)
    return os.fdopen(descriptor, "rb")


def chunks(file: BinaryIO) -> Iterator[bytes]:
    """The file in windows, from where it stands."""
    while data := file.read(_WINDOW_BYTES):
        yield data


def _descend(folder: Path, parts: tuple[str, ...]) -> int:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for depth, part in enumerate(parts, start=1):
        kind = os.O_DIRECTORY if depth < len(parts) else os.O_NONBLOCK
        try:
            inner = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | kind, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _refusal(path: str) -> CorruptInput:
    return CorruptInput(
        f"the reader named {PurePosixPath(path).name!r}, which is no plain file of its folder: the document broke it",
        error_code="FOREIGN_FILE",
    )
