"""A file in which content is gathered and hashed on its way into the store."""

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Self

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.translation import our_errors


class Spool:
    """Takes content piece by piece. Nothing of it stays when it is closed."""

    def __init__(self, folder: Path | None, place: str) -> None:
        """A new file in `folder`, or in the system's temporary one."""
        with our_errors(place if folder else "the temporary folder"):
            self._descriptor, name = tempfile.mkstemp(prefix="holdfast-", dir=folder)
        self.path = Path(name)
        self._place = place if folder else f"the temporary folder {self.path.parent}"
        self._digest = hashlib.sha256()
        self._size = 0

    @property
    def artifact(self) -> Artifact:
        """What came so far. Whoever places it makes it durable."""
        return Artifact(self._digest.hexdigest(), self._size)

    def add(self, chunk: bytes) -> None:
        """Append to it."""
        self._digest.update(chunk)
        self._size += len(chunk)
        rest = memoryview(chunk)
        with our_errors(self._place):
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    def finish(self) -> None:
        """Give back what it takes to append; the file stays."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def close(self) -> None:
        """Remove it. Idempotent."""
        self.finish()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
