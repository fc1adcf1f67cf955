"""What a reader is given and what it gives: a file in, the standard text and its spans out, written as it goes."""

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from holdfast.errors import OPERATOR_MENDS, TooLarge
from holdfast.standard import Span, SpanKind, SpanValue, Warning

TEXT_FILE = "text.md"
SPANS_FILE = "spans.json"

Progress: TypeAlias = Callable[[float], None]

_UNLIMITED = 1 << 62
# What later phases hold in memory at once.
_MOST_SPANS = 200_000
_MOST_WARNINGS = 50
_NAME_CHARACTERS = 300
# Of marks upon one character; no script has so many.
_MOST_HELD = 64


@dataclass(frozen=True, slots=True)
class Source:
    """The file to read. `folder` is scratch to write into; what becomes of it is the caller's business.

    `charsets` are what its sender declared about its encoding, if anything. Pictures of pages are read in these
    languages, as tesseract names them, and up to so many of them.
    """

    path: Path
    name: str
    media_type: str
    folder: Path
    charsets: tuple[str, ...] = ()
    languages: tuple[str, ...] = ("eng",)
    most_scanned_pages: int = 500


@dataclass(frozen=True, slots=True)
class Member:
    """A file in the scratch folder that becomes a child document. `name` may hold `/`, and is only shown."""

    path: Path
    name: str


Reader: TypeAlias = Callable[["Source", "Reading", Progress], None]


class Reading:
    """The standard form of one document while it is being read.

    `write` appends to the text in the scratch folder, so that memory does not grow with the document; `mark` and
    `span` say where what is written next came from. Headings are found in the Markdown afterwards, unless the reader
    marks some itself or says with `has_headings = False` that a line beginning with # is none here. `facts` are small
    things worth knowing about the document, such as its number of pages.
    """

    def __init__(self, folder: Path, *, most_characters: int = _UNLIMITED) -> None:
        self.title: str | None = None
        self.language: str | None = None
        self.extractor = "text"
        self.has_headings = True
        self.members: list[Member] = []
        self.facts: dict[str, int | str] = {}
        self.characters = 0
        self.is_blank = True
        self.counts: Counter[str] = Counter()
        self._most_characters = most_characters
        self._warnings: list[Warning] = []
        self._warned = 0
        self._open: dict[SpanKind, tuple[int, SpanValue]] = {}
        self._after_return = False
        self._held = ""  # the last character, with which the next one may be composed
        self._text_path = folder / TEXT_FILE
        self._text = self._text_path.open("w", encoding="utf-8", newline="")
        self._spans = (folder / SPANS_FILE).open("w", encoding="utf-8")

    def write(self, text: str) -> None:
        """Append. NUL is dropped, lone surrogates are replaced, every kind of line end becomes a newline.

        Characters are composed (NFC), also with what the next call brings.
        """
        text = self._with_newlines(storable(text))
        if not text:
            return
        self.is_blank = self.is_blank and not text.strip()
        text = unicodedata.normalize("NFC", self._held + text)
        self.characters += len(text) - len(self._held)
        if self.characters > self._most_characters:
            raise TooLarge(
                f"the text has at least {self.characters:,} characters, {self._most_characters:,} are allowed: "
                "split the document, or raise HOLDFAST_MOST_TEXT_MB",
                error_code="TEXT_LIMIT",
                details={"most_characters": self._most_characters, **OPERATOR_MENDS},
            )
        end = _composed_end(text)
        self._text.write(text[:end])
        self._held = text[end:]

    def mark(self, kind: SpanKind, value: SpanValue) -> None:
        """Begin a span here; it lasts until the next mark of its kind, or the end."""
        self._let_go()
        self.close(kind)
        self._open[kind] = (self.characters, value)

    def close(self, kind: SpanKind) -> None:
        """End the open span of this kind, if there is one. An empty one leaves no trace."""
        self._let_go()
        opened = self._open.pop(kind, None)
        if opened is not None:
            self.add(Span(opened[0], self.characters, kind, opened[1]))

    @contextmanager
    def span(self, kind: SpanKind, value: SpanValue) -> Iterator[None]:
        """What is written inside the block came from there."""
        self.mark(kind, value)
        yield
        self.close(kind)

    def add(self, span: Span) -> None:
        """Add a finished span. Those of one kind come in order and do not overlap."""
        if span.end <= span.start:
            return
        self.counts[span.kind] += 1
        if self.counts[span.kind] <= _MOST_SPANS:
            self._spans.write(",\n" if self.counts.total() > 1 else "[")
            self._spans.write(json.dumps(_storable_span(span).to_json()))

    def warn(self, code: str, message: str) -> None:
        """Tell the document's owner. After fifty, they are only counted."""
        self._warned += 1
        if len(self._warnings) < _MOST_WARNINGS:
            self._warnings.append(Warning(code, storable(message)))

    def read_back(self) -> Path:
        """The file of the text, complete up to here."""
        self._let_go()
        self._text.flush()
        return self._text_path

    def abandon(self) -> None:
        """Let go of the files. Safe to repeat."""
        self._text.close()
        self._spans.close()

    def finish(self) -> dict[str, Any]:
        """Close everything and say what was read, as plain JSON."""
        for kind in tuple(self._open):
            self.close(kind)
        self._let_go()
        self._warn_of_omissions()
        self._spans.write("]" if self.counts else "[]")
        self.abandon()
        return {
            "characters": self.characters,
            "title": _name(self.title),
            "language": self.language,
            "extractor": self.extractor,
            "facts": self.facts,
            "warnings": [warning.to_json() for warning in self._warnings],
            "members": [{"path": str(member.path), "name": _name(member.name)} for member in self.members],
        }

    def _let_go(self) -> None:
        self._text.write(self._held)
        self._held = ""

    def _with_newlines(self, text: str) -> str:
        """Turn every line end into a newline, also one whose two characters come in two calls."""
        if self._after_return and text:
            text = text.removeprefix("\n")
            self._after_return = False
        if "\r" in text:
            self._after_return = text.endswith("\r")
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        return text

    def _warn_of_omissions(self) -> None:
        for kind, count in self.counts.items():
            if count > _MOST_SPANS:
                self._warnings.append(
                    Warning("PLACES_OMITTED", f"only the first {_MOST_SPANS:,} of {count:,} {kind} places are kept")
                )
        if self._warned > _MOST_WARNINGS:
            self._warnings.append(Warning("WARNINGS_OMITTED", f"{self._warned - _MOST_WARNINGS:,} more warnings"))


def storable(text: str) -> str:
    """The text as UTF-8 and PostgreSQL can hold it: composed, no NUL, a lone surrogate replaced by U+FFFD."""
    text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        # By way of UTF-16, where two surrogates that belong together become the character they stand for.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return unicodedata.normalize("NFC", text)


def _composed_end(text: str) -> int:
    """Up to where nothing that follows can change a text: its last character may yet be composed with the next."""
    least = max(0, len(text) - _MOST_HELD)
    return next((at for at in range(len(text) - 1, least, -1) if not unicodedata.combining(text[at])), least)


def _storable_span(span: Span) -> Span:
    match span.value:
        case str() as value:
            return replace(span, value=storable(value)[:_NAME_CHARACTERS])
        case (str(), *_) as path:
            return replace(span, value=tuple(storable(str(name))[:_NAME_CHARACTERS] for name in path))
        case _:
            return span


def _name(name: str | None) -> str | None:
    return (storable(name).strip()[:_NAME_CHARACTERS] or None) if name else None
