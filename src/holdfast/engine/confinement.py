"""Shuts the calling process in: limits it cannot raise and, where the system allows, its own namespaces."""

import ctypes
import math
import os
import resource
import select
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from holdfast.engine import isolated_files

_MEGABYTE = 1 << 20
_OPEN_FILES = 256
_PROCESSES = 256
# What the report of a MemoryError may use beyond the limit that caused it.
_REPORT_MEMORY = 64 * _MEGABYTE
# After the signal that ends a call, until SIGKILL, for a handler that catches the first.
_CPU_GRACE_SECONDS = 2

_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
_CLONE_NEWPID, _CLONE_NEWNET = 0x20000000, 0x40000000
_NAMESPACES = _CLONE_NEWNS | _CLONE_NEWIPC | _CLONE_NEWPID | _CLONE_NEWNET
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 24, 38
_CAPABILITIES, _CAPABILITIES_VERSION = 64, 0x20080522
# What root takes for granted: packages may belong to others.
_CAP_DAC_OVERRIDE = 1
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 1 << 14, 1 << 18
# Kernels before this one have a single pid_max for the whole machine.
_PID_MAX_PER_NAMESPACE = (6, 14)
_RESERVED_PIDS = 300

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel kill this process when its parent ends; end at once if that has happened already."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent_pid:
        os._exit(1)


def set_limits(*, memory_mb: int, cpu_seconds: int, file_mb: int) -> None:
    """Limit this process and all it starts; each of them has the whole allowance."""
    memory = memory_mb * _MEGABYTE
    _set_limit(resource.RLIMIT_AS, memory, memory + _REPORT_MEMORY)
    _set_limit(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + _CPU_GRACE_SECONDS)
    _set_limit(resource.RLIMIT_FSIZE, file_mb * _MEGABYTE, file_mb * _MEGABYTE)
    _set_limit(resource.RLIMIT_NOFILE, _OPEN_FILES, _OPEN_FILES)
    _set_limit(resource.RLIMIT_CORE, 0, 0)
    with suppress(OSError):
        # If the whole machine runs out of memory, the kernel shall take this process and not the worker.
        Path("/proc/self/oom_score_adj").write_text("1000")


def renew_limits(*, memory_mb: int, cpu_seconds: int) -> None:
    """Allow this process as much for the next call as for the first, within what `set_limits` set for its life."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (min(memory_mb * _MEGABYTE, most), most))
    # The limit counts by another clock than any that can be read, so only a timer says when this call is over.
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    # What the call starts has no timer. Twice the time, for all that the two clocks may have drifted apart.
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (min(_spent_seconds() + 2 * cpu_seconds, most), most))


def is_worn(*, memory_mb: int, cpu_seconds: int, granted: Sequence[str]) -> bool:
    """Say whether the next call would find less than a fresh process offers, or somebody the last call left."""
    resident_pages = int(Path("/proc/self/statm").read_text().split()[1])
    if resident_pages * resource.getpagesize() > memory_mb * _MEGABYTE // 2:
        return True
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    return _spent_seconds() + cpu_seconds >= most or _has_company(granted)


def lift_memory_limit() -> None:
    """Allow the little more memory that a report about too little memory needs."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def enter_cell(scratch: Path, *, hidden: Sequence[Path], kept: Sequence[Path]) -> list[str]:
    """Return, in a new process cut off from network, other processes and files, the names of what was granted.

    It sees all files but those `hidden`, of them only `scratch` and `kept`, and writes only to `scratch`.

    Where the system refuses namespaces, it is merely a new process. The calling process stays behind as a
    warden: it kills the new one on SIGTERM, and ends as that one ends, after all that it started in its
    namespace is gone.
    """
    granted = ["no_new_privileges"] if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 else []
    is_root, owns_users = os.geteuid() == 0, _unshare()
    _leave_warden()
    if owns_users is None:
        _drop_capabilities()
        return granted
    granted += ["network", "processes", *_hide_other_processes()]
    granted += _limit_user() if owns_users and not is_root else _limit_pids()
    if "proc" in granted:  # which is also how mounts were found to be ours alone
        granted += isolated_files.restrict(scratch, hidden=hidden, kept=kept)
    # The first process of a namespace ignores the signals that must end a handler: let the handler be second.
    _leave_warden()
    _drop_capabilities()
    return granted


def _leave_warden() -> None:
    """Return in a new process that dies with the calling one, which never returns."""
    warden = os.pidfd_open(os.getpid())
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    ward = os.fork()
    if ward:
        signal.signal(signal.SIGTERM, lambda *_: os.kill(ward, signal.SIGKILL))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    if ward:
        _end_like(ward)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if select.select([warden], [], [], 0)[0]:
        os._exit(1)  # the warden ended before the line above took effect
    os.close(warden)


def _end_like(ward: int) -> NoReturn:
    """Wait for the ward, reaping orphans meanwhile, and exit with its code, a signal as a shell spells it."""
    while True:
        pid, status = os.wait()
        if pid == ward:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def _drop_capabilities() -> None:
    """Give up what could undo the walls: to unmount what hides a folder, or to raise a limit."""
    for capability in range(_CAPABILITIES):
        if capability != _CAP_DAC_OVERRIDE:
            _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable, and the same for numbers above 31
    _libc.capget(header, sets)
    kept = sets[1] & 1 << _CAP_DAC_OVERRIDE
    sets[:] = [kept, kept, 0, 0, 0, 0]
    if _libc.capset(header, sets) != 0:
        os._exit(1)


def _spent_seconds() -> int:
    return math.ceil(time.process_time())


def _has_company(granted: Sequence[str]) -> bool:
    """Say whether a process that a call started is still there."""
    if "proc" in granted:
        return any(name.isdigit() and int(name) not in (1, os.getpid()) for name in os.listdir("/proc"))
    with suppress(ChildProcessError):
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return True
    return False


def _set_limit(kind: int, soft: int, hard: int) -> None:
    _, ceiling = resource.getrlimit(kind)
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))


def _unshare() -> bool | None:
    """Leave the shared namespaces; return whether that took one of users too, or None if refused."""
    uid, gid = os.geteuid(), os.getegid()
    if _libc.unshare(_NAMESPACES) == 0:
        return False
    if _libc.unshare(_NAMESPACES | _CLONE_NEWUSER) != 0:
        return None
    with suppress(OSError):
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    return True


def _hide_other_processes() -> list[str]:
    """Mount a /proc of this namespace only: the old one shows the worker's environment."""
    if _libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) != 0:
        return []
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    return ["proc"] if _libc.mount(b"proc", b"/proc", b"proc", flags, None) == 0 else []


def _limit_user() -> list[str]:
    """Bound a fork bomb by RLIMIT_NPROC, which counts from zero in a user namespace and never binds root."""
    _set_limit(resource.RLIMIT_NPROC, _PROCESSES, _PROCESSES)
    return ["process_limit"]


def _limit_pids() -> list[str]:
    """Bound a fork bomb by the number of process ids that this namespace may use."""
    if _kernel_version() < _PID_MAX_PER_NAMESPACE:
        return []
    try:
        Path("/proc/sys/kernel/pid_max").write_text(str(_RESERVED_PIDS + _PROCESSES))
    except OSError:
        return []
    return ["process_limit"]


def _kernel_version() -> tuple[int, int]:
    major, minor, *_ = os.uname().release.split(".")
    return int(major), int("".join(filter(str.isdigit, minor)) or 0)
