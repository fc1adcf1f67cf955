"""Splits text of any length along its structure: same text, same pieces, in flat memory."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from holdfast.chunk.boundaries import Boundaries
from holdfast.chunk.section import LEAST_CHARACTERS, Sizes, balance_end, split_section

# How far ahead is looked: several pieces, whatever their size.
WINDOW_CHARACTERS = 16_000
WINDOW_CHARACTERS_PER_TOKEN = 20
# Counting the tokens of something without spaces, or of nothing but spaces, costs the square of its length.
LONGEST_RUN = 2_000
LONGEST_GAP = 1_000
UNBROKEN = re.compile(rf"(?<!\S)\S{{{LONGEST_RUN + 1}}}|(?<!\s)\s{{{LONGEST_GAP}}}")
SENTENCE_MARKS = ".!?;\u3002\uff01\uff1f\uff1b"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text, from character `start`. `continues` says that its section began before it."""

    start: int
    text: str
    continues: bool = False

    @property
    def end(self) -> int:
        """The first character after it."""
        return self.start + len(self.text)


class Splitter:
    """Cuts at boundaries first, then within each section as Markdown is built: blocks, lines, sentences, words.

    Every character that is no white space is in a piece; none has more tokens than allowed; tables and code stay whole
    when they fit. What comes out depends on the text and its boundaries, never on how the text is handed over.
    """

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._window = max(WINDOW_CHARACTERS, WINDOW_CHARACTERS_PER_TOKEN * sizes.tokens)

    def pieces(self, blocks: Iterable[str], boundaries: Boundaries) -> Iterator[Piece]:
        """The pieces in order."""
        ahead = _Ahead(blocks)
        continues = False
        while text := ahead.look(self._window):
            length = _section_length(text, ahead.start, boundaries)
            ended = length is not None or ahead.is_last(text)
            taken = len(text) if length is None else length
            found = split_section(text[:taken], self._sizes)
            if ended:
                found = balance_end(text, found, self._sizes)
            elif len(found) > 1:
                # The last one was cut off by the window: it begins again, with more text behind it.
                taken, _ = found.pop()
            for start, piece in found:
                yield Piece(ahead.start + start, piece, continues)
                continues = True
            continues = continues and not ended
            ahead.skip(taken)


class _Ahead:
    """The text from where we stand, read block by block as it is needed."""

    def __init__(self, blocks: Iterable[str]) -> None:
        self.start = 0
        self._blocks = iter(blocks)
        self._buffer = ""
        self._position = 0

    def look(self, length: int) -> str:
        """The next so many characters; fewer only at the end."""
        if len(self._buffer) - self._position <= length:
            self._fill(length)
        return self._buffer[self._position : self._position + length]

    def is_last(self, text: str) -> bool:
        """Whether nothing follows this, which was looked at."""
        return len(self._buffer) - self._position <= len(text)

    def skip(self, length: int) -> None:
        """Go on by so many characters that were looked at."""
        self.start += length
        self._position += length

    def _fill(self, length: int) -> None:
        parts = [self._buffer[self._position :]]
        size = len(parts[0])
        # One more than asked for tells whether anything follows.
        while size <= length:
            block = next(self._blocks, None)
            if block is None:
                break
            parts.append(block)
            size += len(block)
        self._buffer = "".join(parts)
        self._position = 0


def _section_length(text: str, start: int, boundaries: Boundaries) -> int | None:
    """How much of the text to split by itself, or None when its section goes on beyond it."""
    section = boundaries.first_end(text, start, LEAST_CHARACTERS)
    unbroken = _end_of_unbroken(text[:section])
    return section if unbroken is None else unbroken


def _end_of_unbroken(text: str) -> int | None:
    """Where to cut so that nothing too long is counted as one, or None when there is no such thing."""
    words = text.split()
    gaps = len(text) - sum(map(len, words))
    if max(map(len, words), default=0) <= LONGEST_RUN and gaps - len(words) < LONGEST_GAP:
        return None
    unbroken = UNBROKEN.search(text)
    if unbroken is None:
        return None
    start = unbroken.start()
    if text[:start].strip():
        return start
    gap = len(text) - len(text.lstrip())
    return gap if unbroken[0].isspace() else start + _good_cut(unbroken[0])


def _good_cut(run: str) -> int:
    """As far as may be, behind a sentence if one ends there: some scripts have no spaces."""
    behind = 1 + max(run.rfind(mark, LONGEST_RUN // 2, LONGEST_RUN) for mark in SENTENCE_MARKS)
    return behind or LONGEST_RUN
