"""Finds where in a passage the words of a question stand, in whatever form they stand there."""

import re
from collections.abc import Collection

# A word, or several joined as in well-known, ann@example.org or 3.5.
_JOINED = re.compile(r"\w+(?:[-.@/:'\u2019]\w+)*")
_WORD = re.compile(r"\w+")


def words_of(text: str) -> set[str]:
    """Every word of a text, joined ones also in parts."""
    return {*_JOINED.findall(text), *_WORD.findall(text)}


def ranges_of(text: str, wanted: Collection[str]) -> tuple[tuple[int, int], ...]:
    """The ranges of characters at which the wanted words stand. A joined word counts whole only if no part does."""
    smallest = [word for word in wanted if not any(part in wanted for part in _WORD.findall(word) if part != word)]
    if not smallest:
        return ()
    either = "|".join(map(re.escape, smallest))
    return tuple(match.span() for match in re.finditer(rf"(?<!\w)(?:{either})(?!\w)", text))
