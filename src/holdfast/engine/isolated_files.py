"""The files that a child sees: all but the hidden, and only its scratch directory to write to.

Works in a mount namespace of the calling process's own.
"""

import ctypes
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT, _MS_BIND = 1, 2, 4, 32, 1 << 12
_SYS_MOUNT_SETATTR = 442  # on every architecture
_AT_FDCWD, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY = -100, 0x8000, 1
_EMPTY = b"size=4k,nr_inodes=1k,mode=755"

_libc = ctypes.CDLL(None, use_errno=True)


def restrict(scratch: Path, *, hidden: Sequence[Path], kept: Sequence[Path]) -> list[str]:
    """Put an empty folder over each of `hidden` that exists, and make all but `scratch` unwritable.

    `scratch` and the folders `kept` stay visible even inside a hidden one. Returns which of "files" (hidden) and
    "read_only" the system granted.
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
        _mount(folder, flags=_MS_REMOUNT | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)


def _cover(folder: Path, sources: Mapping[Path, int]) -> bool:
    """Put an empty folder over this one, if there is one, and show the sources inside it again."""
    if not os.path.isdir(folder):
        return False
    _mount(folder, source=b"tmpfs", kind=b"tmpfs", flags=_MS_NOSUID | _MS_NODEV, data=_EMPTY)
    for path, descriptor in sources.items():
        if path.is_relative_to(folder):
            path.mkdir(parents=True, exist_ok=True)
            # By descriptor: by its name the folder cannot be reached any more.
            _mount(path, source=b"/proc/self/fd/%d" % descriptor, flags=_MS_BIND)
    return True


@contextmanager
def _opened(folders: Sequence[Path]) -> Iterator[dict[Path, int]]:
    descriptors: dict[Path, int] = {}
    try:
        for folder in filter(os.path.isdir, sorted(folders)):
            descriptors[folder] = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        yield descriptors
    finally:
        for descriptor in descriptors.values():
            os.close(descriptor)


def _freeze(scratch: Path) -> list[str]:
    """Also closes /proc/sys and /sys, through which root could reach out of any namespace."""
    try:
        _set_attributes(Path("/"), add=_MOUNT_ATTR_RDONLY, flags=_AT_RECURSIVE)
        _set_attributes(scratch, remove=_MOUNT_ATTR_RDONLY)
    except OSError:
        return []  # Linux before 5.12
    return ["read_only"]


def _mount(
    target: Path, *, source: bytes | None = None, kind: bytes | None = None, flags: int, data: bytes | None = None
) -> None:
    if _libc.mount(source, os.fsencode(target), kind, ctypes.c_ulong(flags), data) != 0:
        raise OSError(ctypes.get_errno(), f"cannot mount over {target}")


def _set_attributes(path: Path, *, add: int = 0, remove: int = 0, flags: int = 0) -> None:
    attributes = (ctypes.c_uint64 * 4)(add, remove, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    if _libc.syscall(_SYS_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), flags, attributes, size) != 0:
        raise OSError(ctypes.get_errno(), f"cannot set the mount attributes of {path}")
