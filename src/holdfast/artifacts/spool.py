"""A file in which content is gathered and hashed on its way into the store."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.translation import our_errors


class Spool:
    """Takes content piece by piece. Nothing of it stays when its block ends, however it ends."""

    def __init__(self, descriptor: int, path: Path, place: str) -> None:
        self.path = path
        self._descriptor = descriptor
        self._place = place
        self._digest = hashlib.sha256()
        self._size = 0

    @property
    def size(self) -> int:
        """How many bytes came so far."""
        return self._size

    def add(self, chunk: bytes) -> None:
        """Append to it."""
        self._digest.update(chunk)
        self._size += len(chunk)
        rest = memoryview(chunk)
        with our_errors(self._place):
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    def finish(self) -> Artifact:
        """Say what it is. Whoever places it makes it durable."""
        return Artifact(self._digest.hexdigest(), self._size)


@contextmanager
def spooling(folder: Path | None, place: str) -> Iterator[Spool]:
    """A spool file in `folder`, or in the system's temporary one."""
    with our_errors(place if folder else "the temporary folder"):
        descriptor, name = tempfile.mkstemp(prefix="holdfast-", dir=folder)
    path = Path(name)
    try:
        yield Spool(descriptor, path, place if folder else f"the temporary folder {path.parent}")
    finally:
        os.close(descriptor)
        path.unlink(missing_ok=True)
