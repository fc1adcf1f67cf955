"""The files that a child sees: all but the hidden, and only its scratch directory to write to.

Works in a mount namespace of the calling process's own.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from holdfast.sandbox.platform import OPEN_PLACE, mount, set_mount_attributes

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT, _MS_BIND = 1, 2, 4, 32, 1 << 12
_AT_RECURSIVE, _MOUNT_ATTR_RDONLY = 0x8000, 1
_EMPTY = b"size=4k,nr_inodes=1k,mode=755"


def restrict(scratch: Path, *, hidden: Sequence[Path], kept: Sequence[Path]) -> list[str]:
    """Put an empty folder over each of `hidden` that exists, and make all but `scratch` unwritable.

    `scratch` and the folders `kept` stay visible even inside a hidden one, but a hidden one is never shown by being
    kept too. Returns which of "files" (hidden) and "read_only" the system granted.
    """
    try:
        _hide(sorted(map(_resolved, hidden)), visible=[_resolved(scratch), *map(_resolved, kept)])
    except OSError:
        return []
    return ["files", *_freeze(_resolved(scratch))]


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _hide(folders: Sequence[Path], *, visible: Sequence[Path]) -> None:
    """Outer folders come first, so that an inner one is hidden only where something of it is visible again."""
    with _opened(visible) as sources:
        covered = [folder for folder in folders if _cover(folder, sources)]
    for folder in covered:
        # MS_BIND: this mount only. Without it the whole volume would turn read-only, for everybody.
        mount(folder, flags=_MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)


def _cover(folder: Path, sources: Mapping[Path, int]) -> bool:
    """Put an empty folder over this one, if there is one, and show the sources inside it again."""
    if not os.path.isdir(folder):
        return False
    mount(folder, source=b"tmpfs", kind=b"tmpfs", flags=_MS_NOSUID | _MS_NODEV, data=_EMPTY)
    for path, descriptor in sources.items():
        if folder in path.parents:
            path.mkdir(parents=True, exist_ok=True)
            # By descriptor: by its name the folder cannot be reached any more.
            mount(path, source=b"/proc/self/fd/%d" % descriptor, flags=_MS_BIND)
    return True


@contextmanager
def _opened(folders: Sequence[Path]) -> Iterator[dict[Path, int]]:
    descriptors: dict[Path, int] = {}
    try:
        for folder in filter(os.path.isdir, sorted(folders)):
            descriptors[folder] = os.open(folder, OPEN_PLACE)
        yield descriptors
    finally:
        for descriptor in descriptors.values():
            os.close(descriptor)


def _freeze(scratch: Path) -> list[str]:
    """Also closes /proc/sys and /sys, through which root could reach out of any namespace."""
    try:
        set_mount_attributes(Path("/"), add=_MOUNT_ATTR_RDONLY, flags=_AT_RECURSIVE)
        set_mount_attributes(scratch, remove=_MOUNT_ATTR_RDONLY)
    except OSError:
        return []  # Linux before 5.12
    return ["read_only"]
