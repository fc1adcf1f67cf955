"""The process above a sandboxed one where the kernel does not keep them together: it ends all if the worker ends.

What the sandboxed process does, even inside native code, does not keep it from that.
"""

import os
import select
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from holdfast.sandbox import platform

if TYPE_CHECKING:
    from holdfast.sandbox.census import Census

# Exit codes for what only the supervisor knows.
MEMORY_EXIT = 71
PROCESSES_EXIT = 72
KILLED_EXIT = 128 + signal.SIGKILL
MOST_PROCESSES = 256
# Between two looks at what is watched because the system does not limit it (memory grows faster than a crowd), and at
# the parent, should its life line have found its way into another process.
_MEMORY_SECONDS = 0.1
_PROCESSES_SECONDS = 0.5


class Supervisor:
    """Ends as its child ends, after all that the child started. For a process with one thread and no other task.

    It counts processes itself: the system's limit counts every thread of the user, also where nobody here sees them.
    """

    def __init__(self, *, lifeline: int, parent_pid: int, home: str, memory_bytes: int | None) -> None:
        self._lifeline = lifeline
        self._parent_pid = parent_pid
        self._home = home
        self._memory_bytes = memory_bytes
        self._child = 0
        self._has_ended = False
        self._census: Census | None = None
        self._adopts_orphans = platform.adopt_orphans()
        self._wakeups, self._alarm = os.pipe()
        os.set_blocking(self._alarm, False)
        os.set_blocking(self._wakeups, False)

    @property
    def finds_all(self) -> bool:
        """Whether nothing that the child starts can hide from this process."""
        return self._adopts_orphans

    def release(self) -> None:
        """Let go, in the child, of what belongs to the supervisor alone."""
        for descriptor in (self._lifeline, self._wakeups, self._alarm):
            os.close(descriptor)

    def supervise(self, child: int) -> NoReturn:
        """Exit as the child does, or with one of the codes above, when all that it started has been killed."""
        self._child = child
        platform.die_with_parent(signal.SIGTERM)
        signal.set_wakeup_fd(self._alarm, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._kill_child)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGCHLD})
        while (code := self._verdict()) is None:
            select.select([self._wakeups, self._lifeline], [], [], self._pause)
            self._drain()
        self._end(code)

    def _verdict(self) -> int | None:
        """Return the code to end with, or None while there is no reason to end."""
        if (code := self._ended()) is not None:
            return code
        return KILLED_EXIT if self._parent_is_gone() else self._excess()

    @property
    def _pause(self) -> float:
        return _PROCESSES_SECONDS if self._memory_bytes is None else _MEMORY_SECONDS

    def _kill_child(self, *_: object) -> None:
        if not self._has_ended:  # until then its id cannot belong to anybody else
            os.kill(self._child, signal.SIGKILL)

    def _ended(self) -> int | None:
        """Reap whoever has ended; return the child's exit code if it was one of them, a signal as a shell spells it."""
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == self._child:
                self._has_ended = True
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
            if pid == 0:
                return None

    def _end(self, code: int) -> NoReturn:
        """Kill what is left and exit. The parent, if it lives, sees to the process group besides."""
        self._kill_child()
        if not self._adopts_orphans or _has_children():
            self._look().kill_all()
        if self._parent_is_gone():
            os.killpg(0, signal.SIGKILL)  # whoever is forking at this moment cannot slip through
        os._exit(code)

    def _excess(self) -> int | None:
        census = self._look()
        if len(census.processes()) > MOST_PROCESSES:
            return PROCESSES_EXIT
        if self._memory_bytes is not None and census.largest_bytes() > self._memory_bytes:
            return MEMORY_EXIT
        return None

    def _look(self) -> "Census":
        if self._census is None:
            from holdfast.sandbox.census import Census  # late: it takes longer to import than all the rest

            self._census = Census(home=self._home, adopts_orphans=self._adopts_orphans)
        return self._census

    def _parent_is_gone(self) -> bool:
        return os.getppid() != self._parent_pid or bool(select.select([self._lifeline], [], [], 0)[0])

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._wakeups, 4096):
                pass


def _has_children() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True
