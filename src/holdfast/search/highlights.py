"""Finds where in a passage the words of a question stand, in whatever form they stand there."""

import re
from collections.abc import Collection
from functools import cache

from holdfast.search.graphemes import marks_class


def words_of(text: str) -> set[str]:
    """Every word of a text, joined ones also in parts."""
    return {*_joined().findall(text), *_word().findall(text)}


def ranges_of(text: str, wanted: Collection[str]) -> tuple[tuple[int, int], ...]:
    """The ranges of characters at which the wanted words stand. A joined word counts whole only if no part does."""
    smallest = [word for word in wanted if not any(part in wanted for part in _word().findall(word) if part != word)]
    if not smallest:
        return ()
    either = "|".join(map(re.escape, smallest))
    found = re.finditer(rf"(?<!\w)(?:{either})(?![\w{marks_class()}])", text)
    # A mark before it is looked for only where a word was found: as part of the expression it takes many times as long.
    return tuple(match.span() for match in found if not (match.start() and _mark().match(text, match.start() - 1)))


@cache
def _mark() -> re.Pattern[str]:
    return re.compile(f"[{marks_class()}]")


@cache
def _word() -> re.Pattern[str]:
    # It begins with a letter or figure: what joins to a sign, as in emoji, is not a word.
    return re.compile(rf"\w+(?:[{marks_class()}]+\w*)*")


@cache
def _joined() -> re.Pattern[str]:
    """A word, or several joined as in well-known, ann@example.org or 3.5."""
    return re.compile(rf"{_word().pattern}(?:[-.@/:'\u2019]{_word().pattern})*")
