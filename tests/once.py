"""Lets the first of several processes do something, and the others wait until it is done."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def once(name: Path) -> Iterator[bool]:
    """True for the one who must do it. When that one fails, the next gets its turn."""
    done = name.with_suffix(".done")
    with name.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        first = not done.exists()
        yield first
        done.touch()
