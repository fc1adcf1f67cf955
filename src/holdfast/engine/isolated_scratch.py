"""Scratch directories of isolated children: one parent to hide, and nothing of them outlives their worker for long."""

import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import StorageUnavailable


@dataclass(frozen=True, slots=True)
class Scratch:
    """Two empty directories at first: `cell` is the child's own, `desk` the worker's, which the child cannot see.

    Their owner holds a lock on the `root` of both, which the kernel drops when the owner dies.
    """

    root: Path
    lock: int

    @classmethod
    def create(cls) -> "Scratch":
        """Make and lock a new one."""
        while True:
            # Whoever swept, or removed the shared parent as the last to leave, was faster: once more.
            with suppress(FileNotFoundError, BlockingIOError):
                root = Path(tempfile.mkdtemp(dir=_open_parent()))
                scratch = cls(root, _lock(root))
                scratch.cell.mkdir(mode=0o700)
                scratch.desk.mkdir(mode=0o700)
                return scratch

    @property
    def cell(self) -> Path:
        return self.root / "cell"

    @property
    def desk(self) -> Path:
        return self.root / "desk"

    def clear(self) -> None:
        """Empty both directories, following no link that the child may be planting; OSError if something resists."""
        for folder in (self.cell, self.desk):
            for entry in os.scandir(folder):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)

    def remove(self) -> None:
        """Remove it with all that is in it; the shared parent too, if it was the last there."""
        _remove_tree(self.root)
        os.close(self.lock)
        with suppress(OSError):
            self.root.parent.rmdir()


def shared_parent() -> Path:
    """Where the scratch directories of all processes of this user are: what a child must not see."""
    return Path(tempfile.gettempdir(), f"holdfast-scratch-{os.geteuid()}")


def sweep() -> None:
    """Remove what processes that were killed left behind. Safe at any time, beside any number of others."""
    if not shared_parent().is_dir():
        return
    with suppress(FileNotFoundError):  # the last to leave has removed the parent meanwhile
        for path in _open_parent().iterdir():
            with suppress(OSError):  # its owner lives, or another sweeper has it
                Scratch(path, _lock(path)).remove()


def _open_parent() -> Path:
    parent = shared_parent()
    with suppress(FileExistsError):
        parent.mkdir(mode=0o700)
    status = parent.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        text = f"{parent} is not a private directory of this user: remove it, or set TMPDIR to another place"
        raise StorageUnavailable(text, error_code="SCRATCH_NOT_PRIVATE")
    return parent


def _lock(path: Path) -> int:
    """Return a descriptor that holds the lock. BlockingIOError: somebody has it; FileNotFoundError: it is removed."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.lstat()
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove_tree(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if not path.exists():
        return
    # What is still there stands under directories to which their owner took away its own rights.
    for folder, names, _ in os.walk(_allow(path)):
        for name in names:
            _allow(os.path.join(folder, name))
    shutil.rmtree(path, ignore_errors=True)


def _allow(directory: str | Path) -> str | Path:
    if not os.path.islink(directory):
        os.chmod(directory, 0o700)
    return directory
