"""Shuts the calling process in: limits it cannot raise and, where the system allows, its own namespaces."""

import math
import os
import resource
import select
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from holdfast.engine import isolated_files
from holdfast.sandbox import platform
from holdfast.sandbox.supervisor import MOST_PROCESSES, Supervisor

_MEGABYTE = 1 << 20
_OPEN_FILES = 256
# What the report of a MemoryError may use beyond the limit that caused it.
_REPORT_MEMORY = 64 * _MEGABYTE
# After the signal that ends a call, until SIGKILL, for a handler that catches the first.
_CPU_GRACE_SECONDS = 2
# The first ids of a namespace cannot be used.
_RESERVED_PIDS = 300

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 1 << 14, 1 << 18


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel kill this process when its parent ends; end at once if that has happened already."""
    platform.die_with_parent()
    if os.getppid() != parent_pid:
        os._exit(1)


def set_limits(*, memory_mb: int, cpu_seconds: int, file_mb: int) -> list[str]:
    """Limit this process and all it starts; each of them has the whole allowance. Returns what not every system grants.

    "memory_limit": the system itself refuses more memory.
    """
    memory = memory_mb * _MEGABYTE
    platform.limit(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + _CPU_GRACE_SECONDS)
    platform.limit(resource.RLIMIT_FSIZE, file_mb * _MEGABYTE, file_mb * _MEGABYTE)
    platform.limit(resource.RLIMIT_NOFILE, _OPEN_FILES, _OPEN_FILES)
    platform.limit(resource.RLIMIT_CORE, 0, 0)
    platform.offer_to_memory_killer()
    return ["memory_limit"] if platform.limit_memory(memory, memory + _REPORT_MEMORY) else []


def renew_limits(*, memory_mb: int, cpu_seconds: int, granted: Sequence[str]) -> None:
    """Allow this process as much for the next call as for the first, within what `set_limits` set for its life."""
    if "memory_limit" in granted:
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (min(memory_mb * _MEGABYTE, most), most))
    # The limit counts by another clock than any that can be read, so only a timer says when this call is over.
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    # What the call starts has no timer. Twice the time, for all that the two clocks may have drifted apart.
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (min(_spent_seconds() + 2 * cpu_seconds, most), most))


def is_worn(*, memory_mb: int, cpu_seconds: int, granted: Sequence[str]) -> bool:
    """Say whether the next call would find less than a fresh process offers, or somebody the last call left."""
    if platform.resident_bytes() > memory_mb * _MEGABYTE // 2:
        return True
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    return _spent_seconds() + cpu_seconds >= most or _has_company(granted)


def lift_memory_limit(granted: Sequence[str]) -> None:
    """Allow the little more memory that a report about too little memory needs."""
    if "memory_limit" in granted:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def enter_cell(
    scratch: Path,
    *,
    hidden: Sequence[Path],
    kept: Sequence[Path],
    lifeline: int,
    memory_mb: int,
    granted: Sequence[str],
) -> list[str]:
    """Return, in a new process cut off from network, other processes and files, the names of what was granted.

    It sees all files but those `hidden`, of them only `scratch` and `kept`, and writes only to `scratch`.

    The calling process stays behind: it kills the new one on SIGTERM or when its own parent ends, and ends as that one
    ends, after all that it started is gone. Where the system refuses namespaces, the new process is merely limited.
    The other end of `lifeline` is held by the parent alone.
    """
    granted = [*granted, *(["no_new_privileges"] if platform.refuse_new_privileges() else [])]
    is_root, owns_users = os.geteuid() == 0, platform.leave_namespaces()
    if owns_users is None:
        granted += _fork_supervised(scratch, lifeline=lifeline, memory_mb=memory_mb, granted=granted)
        platform.drop_capabilities()
        return granted
    _fork_below(_end_like)
    os.close(lifeline)  # here the kernel itself keeps all of them together
    granted += ["network", "processes", "descendants", *_hide_other_processes()]
    granted += _limit_user() if owns_users and not is_root else _limit_pids()
    if "proc" in granted:  # which is also how mounts were found to be ours alone
        granted += isolated_files.restrict(scratch, hidden=hidden, kept=kept)
    # The first process of a namespace ignores the signals that must end a handler: let the handler be second.
    _fork_below(_end_like)
    platform.drop_capabilities()
    return granted


def _fork_supervised(scratch: Path, *, lifeline: int, memory_mb: int, granted: Sequence[str]) -> list[str]:
    """Return in a new process, which the calling one supervises, what that grants.

    What counts processes is loaded by the supervisor after the fork: not every system's libraries survive one.
    """
    supervisor = Supervisor(
        lifeline=lifeline,
        parent_pid=os.getppid(),
        home=str(scratch),
        memory_bytes=None if "memory_limit" in granted else memory_mb * _MEGABYTE,
    )
    _fork_below(supervisor.supervise)
    supervisor.release()
    return ["descendants"] if supervisor.finds_all else []


def _fork_below(supervise: Callable[[int], NoReturn]) -> None:
    """Return in a new process that dies with the calling one, which supervises it and never returns."""
    alive, kept = os.pipe()  # its other end is with the calling process alone
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    child = os.fork()
    if child:
        os.close(alive)
        supervise(child)
    os.close(kept)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    platform.die_with_parent()
    if select.select([alive], [], [], 0)[0]:
        os._exit(1)  # the parent ended before the line above took effect
    os.close(alive)


def _end_like(child: int) -> NoReturn:
    """Wait for the child, reaping orphans meanwhile, and exit with its code, a signal as a shell spells it."""
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def _spent_seconds() -> int:
    return math.ceil(time.process_time())


def _has_company(granted: Sequence[str]) -> bool:
    """Say whether a process that a call started is still there."""
    if "proc" in granted:
        return any(name.isdigit() and int(name) not in (1, os.getpid()) for name in os.listdir("/proc"))
    with suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
        return True
    return False


def _hide_other_processes() -> list[str]:
    """Mount a /proc of this namespace only: the old one shows the worker's environment."""
    try:
        platform.mount(Path("/"), source=b"none", flags=_MS_REC | _MS_PRIVATE)
        platform.mount(Path("/proc"), source=b"proc", kind=b"proc", flags=_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    except OSError:
        return []
    return ["proc"]


def _limit_user() -> list[str]:
    """Bound a fork bomb by RLIMIT_NPROC, which counts from zero in a user namespace and never binds root."""
    platform.limit(resource.RLIMIT_NPROC, MOST_PROCESSES, MOST_PROCESSES)
    return ["process_limit"]


def _limit_pids() -> list[str]:
    """Bound a fork bomb by the number of process ids that this namespace may use."""
    return ["process_limit"] if platform.limit_namespace_pids(_RESERVED_PIDS + MOST_PROCESSES) else []
