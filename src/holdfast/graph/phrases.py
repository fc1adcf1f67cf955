"""Key phrases: two or three words side by side that carry meaning, between words that carry none."""

import re
from collections import Counter
from collections.abc import Iterator
from operator import itemgetter

from holdfast.graph.words import OTHER_SMALL_WORDS, PLAIN_WORDS, SMALL_WORDS

LONGEST_WORD = 40
OWN_LABELS = frozenset({"speaker notes"})  # which our own readers write into a text
# Marks and digits, spelt out: that takes a third less time than naming their class.
_MARK = re.compile(r"[!-&(-,./-@\[-`{-~\n–—…“”„«»‹›•·¿¡]+")  # noqa: RUF001
_SKIPPED = SMALL_WORDS | OTHER_SMALL_WORDS | PLAIN_WORDS


def find_phrases(text: str, most: int) -> list[tuple[str, int]]:
    """The most frequent ones, and how often they stand there; of equals those that come first."""
    counts = Counter(" ".join(run) for run in map(_trimmed, _runs(text)) if 2 <= len(run) <= 3)
    for label in OWN_LABELS:
        del counts[label]
    return sorted(counts.items(), key=itemgetter(1), reverse=True)[:most]


def _runs(text: str) -> Iterator[list[str]]:
    """Words that carry meaning and stand side by side, at least two."""
    for piece in _MARK.split(text.lower()):
        words = piece.split()
        if len(words) < 2:
            continue
        run: list[str] = []
        for word in words:
            if word in _SKIPPED or not 2 < len(word) <= LONGEST_WORD:
                if len(run) > 1:
                    yield run
                run = []
            else:
                run.append(word)
        if len(run) > 1:
            yield run


def _trimmed(run: list[str]) -> list[str]:
    """The run without what was done at its ends: "wire rope rejected" speaks of a wire rope."""
    while len(run) > 1 and _was_done(run[-1]):
        run.pop()
    while len(run) > 2 and _was_done(run[0]):
        run.pop(0)
    return run


def _was_done(word: str) -> bool:
    return word.endswith("ed") and len(word) > 4 and not word.endswith("eed")
