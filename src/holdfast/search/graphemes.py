"""Where a text may be cut: never inside what people see as one character."""

import unicodedata
from functools import cache

_JOINERS = "\u200c\u200d"  # the zero-width non-joiner and joiner
_VARIATIONS = "\U000e0100-\U000e01ef"  # the only marks beyond the first two planes
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_REGIONS = range(0x1F1E6, 0x1F200)
_VIRAMA = 9  # the combining class of signs that join the next consonant to this one


@cache
def marks_class() -> str:
    """What words are made of besides `\\w`, as a class of a regular expression: the vowel signs of many scripts."""
    marks = [code for code in range(0x300, 0x20000) if _is_mark(chr(code))]
    begins = [code for code, before in zip(marks, [0, *marks], strict=False) if code != before + 1]
    ends = [code for code, after in zip(marks, [*marks[1:], 0], strict=True) if after != code + 1]
    ranges = "".join(f"{chr(begin)}-{chr(end)}" for begin, end in zip(begins, ends, strict=True))
    return f"{_JOINERS}{ranges}{_VARIATIONS}"


def boundary_before(text: str, at: int) -> int:
    """The nearest place at or before this one where the text may be cut."""
    while 0 < at < len(text) and _belong_together(text, at):
        at -= 1
    return at


def _belong_together(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if _is_mark(after) or after in _JOINERS or ord(after) in _SKIN_TONES or before == _JOINERS[1]:
        return True
    if ord(after) in _REGIONS:
        return _regions_before(text, at) % 2 == 1  # two make a flag
    return unicodedata.combining(before) == _VIRAMA and after.isalpha()


def _regions_before(text: str, at: int) -> int:
    begin = at
    while begin and ord(text[begin - 1]) in _REGIONS:
        begin -= 1
    return at - begin


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"
