"""Reads a question as people type it: words in natural language, "phrases in quotes" and -exclusions."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Self

from holdfast.errors import InvalidInput

LONGEST = 4_000
_PIECE = re.compile(r'(?P<without>(?<!\S)-)?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))')
_MEANING = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Question:
    """`words` holds those of the phrases too: they rank, besides having to occur."""

    words: str
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> Self:
        """Raises InvalidInput for what nothing can be looked for by."""
        if "\0" in text:
            raise InvalidInput("the question holds a NUL character: remove it")
        if len(text) > LONGEST:
            raise InvalidInput(f"the question has {len(text):,} characters: ask with {LONGEST:,} at most")
        words, phrases, without = [], [], []
        for piece in _PIECE.finditer(unicodedata.normalize("NFC", text)):  # as texts are stored
            content = (piece["phrase"] if piece["phrase"] is not None else piece["word"]).strip()
            if not _MEANING.search(content):
                continue
            if piece["without"]:
                without.append(content)
                continue
            words.append(content)
            if piece["phrase"] is not None:
                phrases.append(content)
        if not words:
            raise InvalidInput(f"the question {text[:80]!r} has no words to look for: ask with at least one")
        return cls(" ".join(words), tuple(phrases), tuple(without))

    def to_json(self) -> dict[str, Any]:
        """As the SQL functions take it."""
        return {"words": self.words, "phrases": list(self.phrases), "without": list(self.without)}
