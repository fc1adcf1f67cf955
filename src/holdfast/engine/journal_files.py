"""The files of a journal: one folder per process, locked while it lives; one file per result, that only we read."""

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast import json_codec

LOCK, WRITTEN, REFUSED = "lock", ".json", ".refused"
# What an attempt spent is told after the answers that it spent it on.
KEPT_FIRST = "keep_answer"
ONLY_OURS, ONLY_OUR_FOLDER = 0o600, 0o700


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose result an entry is, as far as it says so."""

    job: int | None
    phase: str | None


def subject_of(body: object) -> Subject:
    """Read it from what the verb would be called with: one item, or a list of one."""
    item = body[0] if isinstance(body, list) and body else body
    return Subject(item.get("job_id"), item.get("phase")) if isinstance(item, dict) else Subject(None, None)


@dataclass(frozen=True, slots=True)
class Entry:
    """One result on disk."""

    path: Path

    @property
    def verb(self) -> str:
        return self.path.name.split("-")[0]

    def read(self) -> str:
        return self.path.read_text()

    def subject(self) -> Subject:
        """Whose it is; of one that nobody can read, nothing."""
        try:
            return subject_of(json_codec.loads(self.read()))
        except (OSError, ValueError):
            return Subject(None, None)

    def refuse(self) -> None:
        """Keep it for someone to look at, and offer it to nobody any more."""
        self.path.rename(self.path.with_suffix(REFUSED))

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder and the lock that makes it this process's."""

    path: Path
    lock: int

    @classmethod
    def made(cls, place: Path) -> "Folder":
        """A new one. Others see it once it is locked: before, they would take it for a dead worker's, and remove it."""
        for above in (place.parent, place):
            above.mkdir(mode=ONLY_OUR_FOLDER, parents=True, exist_ok=True)
            above.chmod(ONLY_OUR_FOLDER)
        name = f"{os.getpid()}-{secrets.token_hex(4)}"
        hidden = place / f".{name}"
        hidden.mkdir(mode=ONLY_OUR_FOLDER)
        try:
            lock = _locked(hidden)
            return cls(hidden.rename(place / name), lock)
        except OSError:
            shutil.rmtree(hidden, ignore_errors=True)
            raise

    @classmethod
    def abandoned(cls, place: Path) -> "Iterator[Folder]":
        """Those whose processes are gone, which are this process's from now on."""
        for path in sorted(place.glob("[!.]*")):
            with suppress(OSError):
                yield cls(path, _locked(path))

    def write(self, verb: str, body: bytes) -> Entry:
        """Put it on the disk, whole or not at all."""
        path = self.path / f"{verb}-{secrets.token_hex(8)}{WRITTEN}"
        unfinished = path.with_suffix(".part")
        try:
            descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, ONLY_OURS)
            with os.fdopen(descriptor, "wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            unfinished.rename(path)
        except OSError:
            # The room it takes is what the next try needs.
            with suppress(OSError):
                unfinished.unlink()
            raise
        return Entry(path)

    def entries(self) -> list[Entry]:
        """What may be offered, in the order in which it must be."""
        found = [Entry(path) for path in sorted(self.path.glob(f"*{WRITTEN}"))]
        return sorted(found, key=lambda entry: entry.verb != KEPT_FIRST)

    def remove_if_empty(self) -> None:
        if not {path.suffix for path in self.path.iterdir()} & {WRITTEN, REFUSED}:
            shutil.rmtree(self.path, ignore_errors=True)

    def release(self) -> None:
        os.close(self.lock)


def _locked(folder: Path) -> int:
    """A descriptor that locks the folder for as long as the process lives; BlockingIOError: another has it."""
    descriptor = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, ONLY_OURS)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
