"""The standard form: what every document becomes, whatever its source, and what one phase hands to the next."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, Self, TypeAlias

from holdfast.artifacts.artifact import Artifact

SpanKind: TypeAlias = Literal["page", "slide", "sheet", "heading", "time", "speaker"]
SpanValue: TypeAlias = int | str | tuple[str, ...] | tuple[float, float]


@dataclass(frozen=True, slots=True)
class Span:
    """Where a stretch of the standard text came from. Offsets count characters; `end` is the first one after it.

    The value is a number for pages and slides (from 1), a name for sheets and speakers, the path of headings from
    the outermost for headings, the seconds from and to for times. Spans of one kind follow each other and never
    overlap; a heading's span ends where the next heading begins, of whatever level.
    """

    start: int
    end: int
    kind: SpanKind
    value: SpanValue

    def to_json(self) -> list[Any]:
        """A compact row: a long recording has ten thousand of them."""
        value = list(self.value) if isinstance(self.value, tuple) else self.value
        return [self.start, self.end, self.kind, value]

    @classmethod
    def from_json(cls, row: list[Any]) -> Self:
        """The inverse of `to_json`."""
        start, end, kind, value = row
        return cls(start, end, kind, tuple(value) if isinstance(value, list) else value)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage stands in its source, as far as the source has such places."""

    pages: tuple[int, ...] = ()
    slides: tuple[int, ...] = ()
    sheets: tuple[str, ...] = ()
    heading: tuple[str, ...] = ()
    seconds: tuple[float, float] | None = None
    speakers: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Only what is known."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: list(value) for name, value in fields.items() if value}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`. What else stands there is left out, as the spans of a stored chunk are."""
        return cls(**{name: tuple(value[name]) for name in cls.__slots__ if name in value})


class Spans:
    """All spans of a document, to be asked where a passage came from."""

    def __init__(self, spans: Iterable[Span]) -> None:
        ordered = sorted(spans, key=lambda span: (span.kind, span.start))
        self._by_kind: dict[SpanKind, list[Span]] = {
            kind: list(group) for kind, group in groupby(ordered, key=lambda span: span.kind)
        }
        self._starts = {kind: [span.start for span in group] for kind, group in self._by_kind.items()}

    def __iter__(self) -> Iterator[Span]:
        for group in self._by_kind.values():
            yield from group

    def place(self, start: int, end: int) -> Place:
        """Where the characters from `start` up to `end` came from. The heading is the one they begin under."""
        headings = self._values("heading", start, start + 1)
        times = self._values("time", start, end)
        return Place(
            pages=tuple(self._values("page", start, end)),
            slides=tuple(self._values("slide", start, end)),
            sheets=tuple(dict.fromkeys(self._values("sheet", start, end))),
            heading=headings[0] if headings else (),
            seconds=(times[0][0], times[-1][1]) if times else None,
            speakers=tuple(dict.fromkeys(self._values("speaker", start, end))),
        )

    def within(self, start: int, end: int) -> list[Span]:
        """What tells places between `start` and `end` apart, counted from `start`: headings do not, nor one page."""
        found = [self._touching(kind, start, end) for kind in self._by_kind if kind != "heading"]
        return [
            replace(span, start=max(span.start - start, 0), end=min(span.end, end) - start)
            for group in found
            if len(group) > 1
            for span in group
        ]

    def _values(self, kind: SpanKind, start: int, end: int) -> list[Any]:
        return [span.value for span in self._touching(kind, start, end)]

    def _touching(self, kind: SpanKind, start: int, end: int) -> list[Span]:
        group = self._by_kind.get(kind, [])
        first = max(0, bisect_right(self._starts.get(kind, []), start) - 1)
        touching = []
        for span in group[first:]:
            if span.start >= end:
                break
            if span.end > start:
                touching.append(span)
        return touching


@dataclass(frozen=True, slots=True)
class Warning:
    """Something about a document that its owner should know, though it did not stop it."""

    code: str
    message: str

    def to_json(self) -> dict[str, str]:
        """As phases hand it on and people are shown it."""
        return {"code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What one phase of the documents pipeline hands to the next. Each phase adds to it, none takes away."""

    original: Artifact
    media_type: str
    name: str
    charset: str | None = None
    text: Artifact | None = None
    spans: Artifact | None = None
    characters: int = 0
    title: str | None = None
    language: str | None = None
    extractor: str | None = None
    chunks: int = 0
    graph: Artifact | None = None
    warnings: tuple[Warning, ...] = ()

    def adding(self, *warnings: Warning, **fields: Any) -> Self:
        """The same with more known about it. What was warned of already is not said twice."""
        return replace(self, warnings=tuple(dict.fromkeys((*self.warnings, *warnings))), **fields)

    def kept_in(self, metadata: Mapping[str, Any]) -> dict[str, Any] | None:
        """What to merge into the document's metadata so that they tell these warnings; None if they do already.

        All warnings of a run stand under "extracted", whose account begins with it: a later phase adds its own, and
        what an earlier run said of the same document goes.
        """
        account = metadata.get("extracted")
        account = dict(account) if isinstance(account, Mapping) else {}
        before = account.pop("warnings", [])
        warnings = [warning.to_json() for warning in self.warnings]
        if warnings == before:
            return None
        return {"extracted": account | ({"warnings": warnings} if warnings else {})}

    def to_json(self) -> dict[str, Any]:
        """A phase's output."""
        value = {name: getattr(self, name) for name in self.__slots__}
        value |= {name: item.to_json() for name, item in value.items() if isinstance(item, Artifact)}
        value["warnings"] = [warning.to_json() for warning in self.warnings]
        return {name: item for name, item in value.items() if item}

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """The next phase's input."""
        fields = dict(value)
        for name in ("original", "text", "spans", "graph"):
            if name in fields:
                fields[name] = Artifact.from_json(fields[name])
        fields["warnings"] = tuple(Warning(**warning) for warning in fields.get("warnings", ()))
        return cls(**fields)
