"""What isolated children leave behind on the system, as seen from outside, and what the system lets them be denied."""

import ctypes
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from holdfast.engine.isolation import describe_isolation


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
    return _those(lambda process: any(mark in part for part in process.cmdline()))


def processes_in(directory: Path) -> list[int]:
    """Return the ids of living processes whose environment names `directory` as place of their home."""
    return _those(lambda process: process.environ().get("HOME", "").startswith(str(directory)))


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


async def require(grant: str) -> None:
    """Skip the test where the system does not grant this, and say so."""
    if grant not in await describe_isolation():
        pytest.skip(f"this system does not grant {grant}")


async def expect(grant: str) -> None:
    """Fail where a system with namespaces does not grant this; skip the test where there are none."""
    if not hasattr(ctypes.CDLL(None), "unshare"):
        pytest.skip(f"this system has no namespaces, so it cannot grant {grant}")
    assert grant in await describe_isolation()


def without_gaps(doubts: list[str]) -> list[str]:
    """What a report names as doubtful, but for the protection that this machine lacks."""
    return [doubt for doubt in doubts if not doubt.startswith("the sandbox of file readers")]


def _open_descriptors() -> int:
    return int(psutil.Process().num_fds())


def _children() -> set[int]:
    """Return the ids of our children, ended or not."""
    return {child.pid for child in psutil.Process().children()}


def _those(matches: Callable[[psutil.Process], bool]) -> list[int]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if matches(process):
                found.append(process.pid)
    return found
