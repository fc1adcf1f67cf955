"""Splits one section of bounded length as Markdown is built, within a limit of tokens."""

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from holdfast.errors import InvalidInput

if TYPE_CHECKING:
    from semantic_text_splitter import MarkdownSplitter

# Its vocabulary is compiled into the splitter: counting needs no download.
COUNTED_AS = "gpt-4o"

FEWEST_TOKENS = 50
# A piece shorter than this is of little use alone.
LEAST_CHARACTERS = 200
SAMPLES = 4
SAMPLE_CHARACTERS = 300
# Latin letters, those of other alphabets, figures, characters that are words, marks.
ABOUT_A_TOKEN = re.compile(r"[A-Za-z\u00c0-\u024f]{1,6}|[\u0370-\u2fff]{1,3}|\d{1,3}|[^\W\d_]|[^\w\s]{1,2}|_")
ON_THE_SAFE_SIDE = 0.9
BALANCED = 0.65

Found: TypeAlias = list[tuple[int, str]]
"""Where pieces begin within what was split, and their text."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How long a piece may be, and how much of the one before it repeats where both belong to one section."""

    tokens: int = 400
    overlap: int = 40

    def __post_init__(self) -> None:
        if self.tokens < FEWEST_TOKENS:
            raise InvalidInput(f"chunks of {self.tokens} tokens are too small: allow at least {FEWEST_TOKENS}")
        if not 0 <= self.overlap <= self.tokens // 2:
            raise InvalidInput(f"an overlap of {self.overlap} tokens must be from 0 to half of {self.tokens}")


def split_section(text: str, sizes: Sizes) -> Found:
    """Pieces of at most `sizes.tokens`, cut at the highest level of the structure that fits: blocks, lines, sentences.

    The same for the same text. All but white space is in a piece.
    """
    if not text or text.isspace():
        return []
    # Counting tokens for every possible cut is slow: cut by characters, and count only what comes out.
    characters = ON_THE_SAFE_SIDE * _characters_per_token(text)
    splitter = _by_characters(int(characters * sizes.tokens), int(characters * sizes.overlap))
    found: Found = []
    for start, piece in splitter.chunk_indices(text):
        # What the overlap repeats from its beginning on needs no piece of its own.
        while found and found[-1][0] >= start:
            found.pop()
        found += _within_limit(start, piece, sizes)
    return found


def balance_end(text: str, found: Found, sizes: Sizes) -> Found:
    """The same pieces of `text`, but the last two of more equal length when the last is too short to be of use."""
    if len(found) < 2 or len(found[-1][1]) >= LEAST_CHARACTERS:
        return found
    begin = found[-2][0]
    end = found[-1][0] + len(found[-1][1])
    halves = _by_tokens(int(sizes.tokens * BALANCED)).chunk_indices(text[begin:end])
    if len(halves) != 2 or len(halves[-1][1]) <= len(found[-1][1]):
        return found
    return [*found[:-2], *((begin + start, piece) for start, piece in halves)]


def _within_limit(start: int, text: str, sizes: Sizes) -> Found:
    found = _by_tokens(sizes.tokens).chunk_indices(text)
    return [(start + inner, piece) for inner, piece in balance_end(text, found, sizes)]


def _characters_per_token(text: str) -> float:
    """About how many there are: four or five in prose, one in a table of figures or where a character is a word."""
    step = max(1, len(text) // SAMPLES)
    samples = [text[start : start + SAMPLE_CHARACTERS] for start in range(0, len(text), step)]
    tokens = sum(len(ABOUT_A_TOKEN.findall(sample)) for sample in samples)
    return sum(map(len, samples)) / max(1, tokens)


@cache
def _by_tokens(tokens: int) -> "MarkdownSplitter":
    # Late, because the vocabulary takes a third of a second to load.
    from semantic_text_splitter import MarkdownSplitter

    return MarkdownSplitter.from_tiktoken_model(COUNTED_AS, tokens)


def _by_characters(characters: int, overlap: int) -> "MarkdownSplitter":
    from semantic_text_splitter import MarkdownSplitter

    return MarkdownSplitter(max(overlap + 1, characters), overlap)
