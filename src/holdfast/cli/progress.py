"""How far long work is: one moving line on a terminal, a plain line now and then elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

QUIET_SECONDS = 1.0
TERMINAL_SECONDS = 0.1
PLAIN_SECONDS = 10.0
CLEAR_LINE = "\r\x1b[K"


class Progress:
    """Says on stderr how much is done. What takes less than a second says nothing."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._moving = sys.stderr.isatty()
        self._pause_seconds = TERMINAL_SECONDS if self._moving else PLAIN_SECONDS
        self._next_at = time.monotonic() + (QUIET_SECONDS if self._moving else PLAIN_SECONDS)
        self._drawn = False

    def __call__(self, done: int) -> None:
        if time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + self._pause_seconds
        line = f"{done:,} {self._what}"
        print(
            f"{CLEAR_LINE}{line}" if self._moving else line,
            end="" if self._moving else "\n",
            file=sys.stderr,
            flush=True,
        )
        self._drawn = self._moving

    def end(self) -> None:
        """Leave the line free for what comes next."""
        if self._drawn:
            print(CLEAR_LINE, end="", file=sys.stderr, flush=True)


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """Show progress while the block runs, however it ends."""
    shown = Progress(what)
    try:
        yield shown
    finally:
        shown.end()
