"""What this system offers to a sandbox, found out by asking it. Every call that only some systems have is made here.

None of them is looked for before it is needed, so this module can be imported anywhere.
"""

import ctypes
import errno
import mmap
import os
import resource
import signal
from contextlib import suppress
from functools import cache
from pathlib import Path

# Linux: the same numbers on every processor.
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
_CLONE_NEWPID, _CLONE_NEWNET = 0x20000000, 0x40000000
_NAMESPACES = _CLONE_NEWNS | _CLONE_NEWIPC | _CLONE_NEWPID | _CLONE_NEWNET
_CAPABILITIES, _CAPABILITIES_VERSION = 64, 0x20080522
# What root takes for granted: packages may belong to others.
_CAP_DAC_OVERRIDE = 1
_AT_FDCWD = -100
# For C libraries without mount_setattr(). New calls have had one number for all processors since Linux 5.1; only
# alpha, which no wheel is built for, counts differently.
_SYS_MOUNT_SETATTR = 442
# Kernels before this one have a single pid_max for the whole machine.
_PID_MAX_PER_NAMESPACE = (6, 14)

# To hold a folder without the right to list it, where the system can.
OPEN_PLACE = os.O_DIRECTORY | getattr(os, "O_PATH", os.O_RDONLY)


def call(name: str, *arguments: object) -> None:
    """Call this function of the C library. Raises OSError if it refuses: ENOSYS where there is no such function."""
    function = getattr(_c_library(), name, None)
    if function is None:
        raise OSError(errno.ENOSYS, f"this system has no {name}()")
    if function(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}(): {os.strerror(code)}")


def answers(name: str, *arguments: object) -> bool:
    """Call this function and say whether it is there and did what it was asked for."""
    try:
        call(name, *arguments)
    except OSError:
        return False
    return True


def die_with_parent(number: signal.Signals = signal.SIGKILL) -> bool:
    """Have the kernel send this signal when the parent ends; False where only a life line tells of that."""
    return _control(_PR_SET_PDEATHSIG, number)


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent ends; False where such orphans go elsewhere."""
    return _control(_PR_SET_CHILD_SUBREAPER, 1)


def refuse_new_privileges() -> bool:
    """Let no program that is started from here have more rights than this process."""
    return _control(_PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Give up what could undo the walls: to unmount what hides a folder, or to raise a limit.

    OSError if the system has such rights and does not take them back.
    """
    for capability in range(_CAPABILITIES):
        if capability != _CAP_DAC_OVERRIDE:
            _control(_PR_CAPBSET_DROP, capability)
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable, and the same for numbers above 31
    try:
        call("capget", header, sets)
        kept = sets[1] & 1 << _CAP_DAC_OVERRIDE
        sets[:] = [kept, kept, 0, 0, 0, 0]
        call("capset", header, sets)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise


def leave_namespaces() -> bool | None:
    """Leave the shared namespaces; return whether that took one of users too, or None if refused."""
    uid, gid = os.geteuid(), os.getegid()
    if answers("unshare", _NAMESPACES):
        return False
    if not answers("unshare", _NAMESPACES | _CLONE_NEWUSER):
        return None
    with suppress(OSError):
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    return True


def mount(
    target: Path, *, source: bytes | None = None, kind: bytes | None = None, flags: int, data: bytes | None = None
) -> None:
    """Mount, in a namespace of this process's own: other systems have a function of this name that differs."""
    call("mount", source, os.fsencode(target), kind, ctypes.c_ulong(flags), data)


def set_mount_attributes(path: Path, *, add: int = 0, remove: int = 0, flags: int = 0) -> None:
    """Change the attributes of a mount, in a namespace of this process's own. OSError before Linux 5.12."""
    attributes = (ctypes.c_uint64 * 4)(add, remove, 0, 0)
    arguments = (_AT_FDCWD, os.fsencode(path), flags, attributes, ctypes.c_size_t(ctypes.sizeof(attributes)))
    try:
        call("mount_setattr", *arguments)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        call("syscall", ctypes.c_long(_SYS_MOUNT_SETATTR), *arguments)


def limit_namespace_pids(most: int) -> bool:
    """Bound how many process ids this namespace may use, in one of this process's own."""
    if _kernel_version() < _PID_MAX_PER_NAMESPACE:
        return False
    try:
        Path("/proc/sys/kernel/pid_max").write_text(str(most))
    except OSError:
        return False
    return True


def open_exit_descriptor(pid: int) -> int | None:
    """Return a descriptor that becomes readable when this process ends; None where only a life line tells of that."""
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        return int(opener(pid))
    except OSError:
        return None


def limit(kind: int, soft: int, hard: int) -> None:
    """Limit this process and all it starts, within what it is allowed itself."""
    _, ceiling = resource.getrlimit(kind)
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))


def limit_memory(soft: int, hard: int) -> bool:
    """Limit the address space; False where the system does not take that limit, or takes it and grants all the same."""
    try:
        limit(resource.RLIMIT_AS, soft, hard)
    except (OSError, ValueError):
        return False
    try:
        mmap.mmap(-1, soft).close()  # never touched, so never used
    except (OSError, ValueError, MemoryError):
        return True
    return False


def resident_bytes() -> int:
    """How much memory this process uses now."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        import psutil  # late: most systems do without

        return int(psutil.Process().memory_info().rss)


def offer_to_memory_killer() -> None:
    """If the whole machine runs out of memory, the kernel shall take this process and not its parent."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def usable_cores() -> int:
    """How many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


@cache
def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _control(option: int, value: int) -> bool:
    return answers("prctl", option, *map(ctypes.c_ulong, (value, 0, 0, 0)))


def _kernel_version() -> tuple[int, int]:
    major, minor, *_ = os.uname().release.split(".")
    return int(major), int("".join(filter(str.isdigit, minor)) or 0)
