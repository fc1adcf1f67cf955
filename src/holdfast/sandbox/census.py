"""Counts what a sandboxed process has started, and how much memory each of them uses: for systems that limit neither.

Every look asks the system for all its processes. What was seen once is remembered, because a process that leaves its
session, and whose parent ends, is nobody's descendant any more.
"""

import os
from collections.abc import Iterator
from contextlib import suppress

import psutil


class Census:
    """The processes below the calling one. `home` is the folder that their environment names as HOME.

    Where orphans are adopted (see `platform.adopt_orphans`) all are found. Elsewhere one that was started and orphaned
    between two looks is found by its environment, unless it emptied that too.
    """

    def __init__(self, *, home: str, adopts_orphans: bool) -> None:
        self._home = home
        self._adopts_orphans = adopts_orphans
        self._self = psutil.Process()
        self._seen: set[psutil.Process] = set()

    def processes(self) -> list[psutil.Process]:
        """Return all that live, looked up among the descendants."""
        self._seen |= set(self._self.children(recursive=True))
        self._seen = {process for process in self._seen if _lives(process)}
        return [*self._seen]

    def largest_bytes(self) -> int:
        """Return how much memory the largest of those last looked up uses."""
        return max(map(_resident_bytes, self._seen), default=0)

    def kill_all(self, *, rounds: int = 20) -> None:
        """Kill every one, and what they start meanwhile; gives up after so many looks."""
        for _ in range(rounds):
            strays = {*self.processes(), *self._marked()}
            if not strays:
                return
            for process in strays:
                with suppress(psutil.Error):
                    process.kill()
            self._reap()

    def _marked(self) -> Iterator[psutil.Process]:
        """Find those that name the folder as their home, wherever they have gone."""
        if self._adopts_orphans:
            return
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if process.pid != os.getpid() and process.environ().get("HOME") == self._home and _lives(process):
                    yield process

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _resident_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
