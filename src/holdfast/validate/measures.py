"""Measures a text as it streams by: how much there is, how much of it is damaged, and a sample of it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# Longer than any word of a language that has spaces.
LONG_RUN = 1_000
SLICE_CHARACTERS = 256 * 1024
SAMPLE_CHARACTERS = 20_000
SAMPLES = 10
# From here on, how many more letters and figures there are does not matter.
ENOUGH = 10_000

_WORDLY = re.compile(r"[^\W_]+")
_LETTERS = re.compile(r"[^\W\d_]+")
# Those of base64 and of its spelling for links do not count: a coded file has enough of them to pass for writing.
_MARKS = re.compile(r"[^\w+/=-]+")
# Control, unassigned by any standard, and the replacement character: what remains where decoding failed.
_BROKEN = re.compile(
    r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\ue000-\uf8ff\ufff0-\uffff\U000f0000-\U0010ffff]|\(cid:\d+\)"
)
# UTF-8 that was read as Latin: two bytes of Latin, Cyrillic, Greek and Arabic letters, three of quotation marks.
_MISREAD = re.compile(
    r"[\u00c2\u00c3\u00c4\u00c5\u00ce\u00cf\u00d0\u00d1\u00d8\u00d9][\x80-\xbf\u0152\u0153\u0160\u0161\u017d\u017e"
    r"\u0178\u0192\u02c6\u02dc\u2013\u2014\u2018-\u201e\u2020-\u2022\u2026\u2030\u2039\u203a\u20ac\u2122]"
    r"|\u00e2\u20ac[\x80-\xbf\u0153\u02dc\u2013\u2014\u201c\u201d\u2122\u00a6\u00a2]"
)
_SPACELESS = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


@dataclass(slots=True)
class Measures:
    """What was counted; letters and figures (`wordly`) only while there are few.

    `unbroken` are characters in long runs without a space, of scripts that have spaces.
    """

    characters: int = 0
    visible: int = 0
    wordly: int = 0
    damaged: int = 0
    unbroken: int = 0
    unbroken_letters: int = 0
    unbroken_marks: int = 0
    sample: str = ""

    @property
    def damaged_share(self) -> float:
        """Of all that can be seen."""
        return self.damaged / max(1, self.visible)

    @property
    def unbroken_share(self) -> float:
        """Of all that can be seen."""
        return self.unbroken / max(1, self.visible)


def measure(blocks: Iterable[str]) -> Iterator[Measures]:
    """The measures so far now and then, the last for the whole text. Memory does not grow with the text."""
    measures = Measures()
    run = _Run(measures)
    for number, block in enumerate(_slices(blocks)):
        if number < SAMPLES:
            measures.sample += block[:SAMPLE_CHARACTERS]
        measures.characters += len(block)
        words = block.split()
        measures.visible += sum(map(len, words))
        if measures.wordly < ENOUGH:
            measures.wordly += sum(map(len, _WORDLY.findall(block)))
        measures.damaged += sum(map(len, _BROKEN.findall(block)))
        if not block.isascii():
            measures.damaged += sum(map(len, _MISREAD.findall(block)))
        run.add(block, words)
        yield measures
    run.end()
    yield measures


def _slices(blocks: Iterable[str]) -> Iterator[str]:
    """The same in smaller pieces: the words of a block, as a list, take fifteen times its size."""
    for block in blocks:
        for start in range(0, len(block), SLICE_CHARACTERS):
            yield block[start : start + SLICE_CHARACTERS]


class _Run:
    """The word that the last block ended in, as far as it is known: a long one may go through many blocks."""

    def __init__(self, measures: Measures) -> None:
        self._measures = measures
        self._length = 0
        self._spaceless = 0
        self._letters = 0
        self._marks = 0

    def add(self, block: str, words: list[str]) -> None:
        if not words or block[0].isspace():
            self.end()
        if not words:
            return
        self._extend(words[0])
        if len(words) > 1:
            self.end()
            if max(map(len, words)) > LONG_RUN:
                self._add_whole(words[1:-1])
            self._extend(words[-1])
        if block[-1].isspace():
            self.end()

    def _add_whole(self, words: list[str]) -> None:
        for word in words:
            if len(word) > LONG_RUN:
                self._extend(word)
                self.end()

    def _extend(self, word: str) -> None:
        self._length += len(word)
        self._spaceless += len(_SPACELESS.findall(word))
        self._letters += sum(map(len, _LETTERS.findall(word)))
        self._marks += sum(map(len, _MARKS.findall(word)))

    def end(self) -> None:
        if self._length > LONG_RUN and self._spaceless < self._length / 2:
            self._measures.unbroken += self._length
            self._measures.unbroken_letters += self._letters
            self._measures.unbroken_marks += self._marks
        self._length = self._spaceless = self._letters = self._marks = 0
