"""Where one passage must not run on into the next: slides, sheets and headings."""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Self

from holdfast.standard import Span


class Boundaries:
    """Offsets at which something new begins.

    At an `always` one a chunk ends, however short it is; at a `mostly` one it ends unless too little stands before it
    to be of use alone, as a heading without text does.
    """

    def __init__(self, always: Iterable[int] = (), mostly: Iterable[int] = ()) -> None:
        self._always = frozenset(always)
        self._all = sorted(self._always.union(mostly))

    @classmethod
    def of(cls, spans: Iterable[Span]) -> Self:
        """Slides and sheets stand for themselves; a section with little in it goes with the one after it."""
        always: list[int] = []
        mostly: list[int] = []
        for span in spans:
            if span.kind in ("slide", "sheet"):
                always.append(span.start)
            elif span.kind == "heading":
                mostly.append(span.start)
        return cls(always, mostly)

    def first_end(self, text: str, start: int, least: int) -> int | None:
        """How much of `text`, which begins at `start`, stands before the first boundary where a chunk ends."""
        for boundary in self.within(start, start + len(text) + 1):
            length = boundary - start
            if boundary in self._always or len(text[:length].strip()) >= least:
                return length
        return None

    def within(self, start: int, end: int) -> list[int]:
        """Every boundary after `start` and before `end`, in order."""
        return self._all[bisect_right(self._all, start) : bisect_right(self._all, end - 1)]
