"""What isolated children leave behind on the system, as seen from outside."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def nothing_left(temporary: Path) -> Iterator[None]:
    """Check that the block leaves no scratch directory in `temporary`, no descriptor and no child."""
    descriptors, children = _open_descriptors(), _children()
    yield
    assert list(temporary.glob("holdfast-*")) == []
    assert _open_descriptors() <= descriptors
    assert _children() <= children


def processes_with(mark: str) -> list[int]:
    """Return the ids of living processes whose command line holds `mark`."""
    return [pid for pid in _all_processes() if mark in _read(pid, "cmdline")]


def processes_in(directory: Path) -> list[int]:
    """Return the ids of living processes whose environment names `directory` as place of their home."""
    return [pid for pid in _all_processes() if f"HOME={directory}" in _read(pid, "environ")]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _children() -> set[int]:
    """Return the ids of our children, ended or not."""
    return {pid for pid in _all_processes() if f") {os.getpid()} " in re.sub(r"\) \w ", ") ", _read(pid, "stat"))}


def _all_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""
