"""What the two kinds of storage have in common, and how objects are read from either."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import obstore
from obstore.store import LocalStore, S3Store

from holdfast.artifacts.translation import our_errors

WINDOW_BYTES = 4 * 1024 * 1024
LISTED_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Kept:
    """An object as the storage knows it."""

    key: str
    size: int


class Shelf(Protocol):
    """One kind of storage. Every call blocks; errors are ours."""

    @property
    def objects(self) -> "Objects":
        """The objects it keeps."""

    @property
    def spool_folder(self) -> Path | None:
        """Where content is gathered before it is placed; None: the system's temporary folder."""

    def place(self, spool: Path, key: str) -> None:
        """Make the object whole and durable, whatever stood there. The spool file stays."""

    def remove_dead_spools(self) -> None:
        """Remove the spool files of processes that were killed, as far as they are kept in the storage."""


@dataclass(frozen=True, slots=True)
class Objects:
    """The calls that are the same everywhere. `place` is how messages name the storage."""

    store: LocalStore | S3Store
    place: str

    def look(self, key: str) -> Kept | None:
        """The object, or None when there is none."""
        with our_errors(self.place):
            try:
                found = obstore.head(self.store, key)
            except FileNotFoundError:
                return None
        return Kept(key, found["size"])

    def windows(self, key: str, size: int) -> Iterator[bytes]:
        """The object's first `size` bytes, a few at a time: so a request that hangs is noticed soon."""
        for start in range(0, size, WINDOW_BYTES):
            with our_errors(self.place):
                window = obstore.get_range(self.store, key, start=start, end=min(start + WINDOW_BYTES, size))
            yield bytes(window)

    def folders(self) -> Sequence[str]:
        """The folders that objects are in, at the top."""
        with our_errors(self.place):
            return sorted(obstore.list_with_delimiter(self.store)["common_prefixes"])

    def list(self, prefix: str) -> Iterator[Kept]:
        """Every object below `prefix`."""
        with our_errors(self.place):
            for group in obstore.list(self.store, prefix, chunk_size=LISTED_AT_ONCE):
                for found in group:
                    yield Kept(found["path"], found["size"])

    def write(self, key: str, data: bytes) -> None:
        """Write a small object."""
        with our_errors(self.place):
            obstore.put(self.store, key, data, use_multipart=False)

    def remove(self, key: str) -> None:
        """Remove an object, if it is there."""
        with our_errors(self.place), suppress(FileNotFoundError):
            obstore.delete(self.store, key)
