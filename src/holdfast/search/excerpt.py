"""Chooses what of a passage answers a question: where most of the question's words stand together."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from holdfast.search.graphemes import boundary_before

LONGEST = 700
AROUND = 120
# Words further apart are seldom of one thought.
TOGETHER = 240


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of a passage, and the words of the question that stand in it: by their numbers, the rarest is the first."""

    start: int
    end: int
    asked: frozenset[int] = frozenset()

    @property
    def rank(self) -> tuple[int, list[int]]:
        """Less is better: more of the words, then rarer ones."""
        return -len(self.asked), sorted(self.asked)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """From where to where a passage is worth reading, and every stretch in which what was found stands."""

    start: int
    end: int
    found: tuple[Stretch, ...] = ()


def choose(text: str, marks: Sequence[Stretch], breaks: Sequence[int] = ()) -> Excerpt:
    """The window with most of the question's words; of several with the rarest, then with the nearest to each other.

    `marks` are the words of the passage that were asked for, and `breaks` where a page or the like begins, in order.
    Found is what stands together in such a window: most of the words again, with as few breaks between them as may be.
    Where several stretches have as much, nothing tells which of them answers: all are found, the first is shown.
    """
    if not marks:
        return Excerpt(*_shown(text, 0, Stretch(0, 0)))
    windows = _best(_stretches(marks, LONGEST))
    found = _unbroken(_best(_inside(windows, _stretches(marks, TOGETHER))), breaks)
    nearest = min(found, key=lambda one: (one.end - one.start, one.start))
    window = min((one for one in windows if _inside([one], [nearest])), key=lambda one: one.end - one.start)
    return Excerpt(*_shown(text, min(nearest.start - AROUND, window.start), window), tuple(found))


def _stretches(marks: Sequence[Stretch], longest: int) -> Iterator[Stretch]:
    """From every mark on, the shortest stretch for each number of words, in order of their starts."""
    everything = frozenset[int]().union(*(mark.asked for mark in marks))
    for number, first in enumerate(marks):
        asked = first.asked
        yield first
        for following in range(number + 1, len(marks)):
            mark = marks[following]
            if asked == everything or mark.end - first.start > longest:
                break
            if not mark.asked <= asked:
                asked |= mark.asked
                yield Stretch(first.start, mark.end, asked)


def _best(stretches: Iterable[Stretch]) -> list[Stretch]:
    ranked = [(stretch.rank, stretch) for stretch in stretches]
    best = min(rank for rank, _ in ranked)
    return [stretch for rank, stretch in ranked if rank == best]


def _inside(windows: Sequence[Stretch], stretches: Iterable[Stretch]) -> list[Stretch]:
    """Those that stand whole in one of the windows, which come in order of their starts."""
    starts = [window.start for window in windows]
    reached = [0, *accumulate((window.end for window in windows), max)]
    return [one for one in stretches if one.end <= reached[bisect_right(starts, one.start)]]


def _unbroken(stretches: Sequence[Stretch], breaks: Sequence[int]) -> list[Stretch]:
    counts = [bisect_left(breaks, one.end) - bisect_right(breaks, one.start) for one in stretches]
    least = min(counts)
    return [one for one, count in zip(stretches, counts, strict=True) if count == least]


def _shown(text: str, start: int, window: Stretch) -> tuple[int, int]:
    """From `start` on, if all of the window can be shown then. Whole words only, or at least whole characters."""
    if len(text) <= LONGEST:
        return 0, len(text)
    start = max(0, min(start, len(text) - LONGEST), window.end - LONGEST)
    end = start + LONGEST
    if start:
        start = text.find(" ", start, window.start) + 1 or boundary_before(text, start)
    if end < len(text):
        last = text.rfind(" ", window.end, end)
        end = boundary_before(text, end) if last < 0 else last
    return start, end
