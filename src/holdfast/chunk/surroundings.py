"""What a language model is shown of a document to situate its chunks: all of it, or the part around them."""

from collections.abc import Iterable
from dataclasses import dataclass

OPENING_CHARACTERS = 2_000
# A chunk that begins at the end of a part is shown whole.
MARGIN_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the document that many chunks share, so that a provider can cache it."""

    start: int
    end: int
    shown: str


class Surroundings:
    """Parts of a document in order, each of bounded length. A later part begins with the document's opening.

    Blocks are read as they are needed, and forgotten.
    """

    def __init__(self, blocks: Iterable[str], most_characters: int) -> None:
        self._blocks = iter(blocks)
        self._most_characters = most_characters
        self._opening = ""
        self._ahead = ""
        self._part = Part(0, 0, "")

    def around(self, start: int) -> Part:
        """The part that holds this character. Asked from the beginning to the end of the document, never back."""
        while start >= self._part.end:
            text = self._take()
            if not text:
                break
            if not self._part.end:
                self._opening = text[:OPENING_CHARACTERS]
            self._part = self._following(text)
        return self._part

    def _following(self, text: str) -> Part:
        start = self._part.end
        shown = text + self._ahead[:MARGIN_CHARACTERS]
        if start:
            shown = f"{self._opening}\n\n[…]\n\n{shown}"
        return Part(start, start + len(text), shown)

    def _take(self) -> str:
        parts, size = [self._ahead], len(self._ahead)
        while size <= self._most_characters + MARGIN_CHARACTERS:
            block = next(self._blocks, None)
            if block is None:
                break
            parts.append(block)
            size += len(block)
        text = "".join(parts)
        # A little more than a part stays one: the margin would repeat it.
        length = self._most_characters if len(text) > self._most_characters + MARGIN_CHARACTERS else len(text)
        self._ahead = text[length:]
        return text[:length]
