"""Artifacts in a folder of the file system."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from obstore.store import LocalStore

from holdfast.artifacts.address import Folder
from holdfast.artifacts.shelf import WINDOW_BYTES, Kept, Objects
from holdfast.artifacts.translation import our_errors

SPOOL = ".spool"
# By the clock of the file system alone. Should one be in use all the same, its put fails and is tried again.
DEAD_SPOOL_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class FolderObjects(Objects):
    """The same calls, those of every put and read straight to the system: the library takes a thread for each."""

    root: Path

    def look(self, key: str) -> Kept | None:
        """The object, or None when there is none."""
        with our_errors(self.place):
            try:
                found = os.stat(self.root / key)
            except (FileNotFoundError, NotADirectoryError):
                return None
        if not stat.S_ISREG(found.st_mode):
            return None
        return Kept(key, found.st_size)

    def windows(self, key: str, size: int) -> Iterator[bytes]:
        """The object's first `size` bytes, a few at a time; fewer if there are not so many."""
        with our_errors(self.place):
            file = (self.root / key).open("rb", buffering=0)
        with file:
            for start in range(0, size, WINDOW_BYTES):
                with our_errors(self.place):
                    window = file.read(min(WINDOW_BYTES, size - start))
                yield window

    def list(self, prefix: str) -> Iterator[Kept]:
        """Every object below `prefix`."""
        if _has_entries(self.root / prefix):
            yield from Objects.list(self, prefix)


@dataclass(frozen=True, slots=True)
class FolderShelf:
    """Content is gathered inside the folder itself, so that an object appears at once and whole, by a link.

    An object that stands there already is replaced by the same content: that mends it, should its disk have spoilt it,
    and costs nothing, for its bytes are written by then.
    """

    root: Path
    objects: FolderObjects

    @property
    def spool_folder(self) -> Path:
        """On the same file system, for a link does not leave it."""
        folder = self.root / SPOOL
        with our_errors(self.objects.place):
            folder.mkdir(parents=True, exist_ok=True)
        return folder

    def place(self, spool: Path, key: str) -> None:
        """Make the object whole and durable."""
        target = self.root / key
        with our_errors(self.objects.place):
            is_new = not target.parent.exists()
            if is_new:
                target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(spool, target)
            except FileExistsError:
                _replace(target, spool)
            else:
                # After the link, so that name and content reach the disk together, in half the time.
                _make_durable(spool)
            _make_durable(target.parent)
            if is_new:
                _make_durable(target.parent.parent)
                _make_durable(self.root)

    def remove_dead_spools(self) -> None:
        """Remove the spool files of processes that were killed: those much older than one that is made now."""
        with our_errors(self.objects.place), tempfile.NamedTemporaryFile(dir=self.spool_folder) as new:
            now = os.stat(new.name).st_mtime
            for path in self.spool_folder.iterdir():
                with suppress(FileNotFoundError):
                    if now - path.stat().st_mtime > DEAD_SPOOL_SECONDS:
                        path.unlink()


def open_folder(address: Folder) -> FolderShelf:
    """The folder as a shelf; it is made when the first artifact comes."""
    place = f"the artifact folder {address.path}"
    with our_errors(place):
        address.path.mkdir(parents=True, exist_ok=True)
        return FolderShelf(address.path, FolderObjects(LocalStore(address.path), place, address.path))


def _replace(target: Path, spool: Path) -> None:
    """Someone may need what stands there: only what a power cut cannot take away may replace it."""
    _make_durable(spool)
    again = spool.with_name(f"{spool.name}-again")
    os.link(spool, again)
    os.replace(again, target)


def _has_entries(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except (FileNotFoundError, NotADirectoryError):
        return False


def _make_durable(path: Path) -> None:
    """A name is lost in a power cut unless the folder that holds it was written too."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
