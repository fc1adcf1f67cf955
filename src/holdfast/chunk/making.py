"""Makes the chunks of a document from its standard form: split, placed, situated, named."""

import codecs
import hashlib
import json
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.store import ArtifactStore
from holdfast.chunk.boundaries import Boundaries
from holdfast.chunk.context import Situation
from holdfast.chunk.splitting import Piece, Splitter
from holdfast.errors import CorruptInput
from holdfast.standard import Carried, Place, Span, Spans

ID_CHARACTERS = 24


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A passage as it is stored. `spans` say where within it a page, slide, sheet, cue or speaker begins and ends."""

    ordinal: int
    id: str
    start: int
    end: int
    text: str
    heading: str
    context: str
    place: Place
    spans: Sequence[Span]
    language: str | None

    def to_json(self) -> dict[str, Any]:
        """As `store_chunks` takes it."""
        place = self.place.to_json()
        if self.spans:
            place["spans"] = [span.to_json() for span in self.spans]
        return {
            "ordinal": self.ordinal,
            "id": self.id,
            "start_at": self.start,
            "end_at": self.end,
            "text": self.text,
            "heading": self.heading,
            "context": self.context,
            "place": place,
            "language": self.language,
        }

    def situated(self, context: str) -> "NewChunk":
        """The same with more context, as a language model gave it."""
        context = unicodedata.normalize("NFC", context)
        return replace(self, context="\n".join(part for part in (self.context, context) if part))


def make_chunks(store: ArtifactStore, organisation: str, carried: Carried, splitter: Splitter) -> Iterator[NewChunk]:
    """The chunks in order, in flat memory. Blocks: use it in a thread. Same document, same chunks."""
    if carried.text is None:
        return
    spans = Spans(_read_spans(store, organisation, carried.spans))
    boundaries = Boundaries.of(spans)
    title = unicodedata.normalize("NFC", carried.title or carried.name)
    before = ""
    end = 0
    for ordinal, piece in enumerate(splitter.pieces(read_text(store, organisation, carried.text), boundaries)):
        preceding = before if piece.continues and piece.start >= end else ""
        situation = Situation(title, _place(piece, spans, boundaries), preceding)
        yield NewChunk(
            ordinal,
            _name(carried.original.hash, piece),
            piece.start,
            piece.end,
            piece.text,
            situation.heading,
            situation.context,
            situation.place,
            spans.within(piece.start, piece.end),
            carried.language,
        )
        before, end = piece.text, piece.end


def read_text(store: ArtifactStore, organisation: str, text: Artifact) -> Iterator[str]:
    """A standard text, block by block."""
    return codecs.iterdecode(store.stream(organisation, text), "utf-8", errors="replace")


def _place(piece: Piece, spans: Spans, boundaries: Boundaries) -> Place:
    """Where it came from, blank pages at its edges left out. Of several headings, the one most of it stands under."""
    begin = piece.end - len(piece.text.lstrip())
    end = piece.start + len(piece.text.rstrip())
    place = replace(spans.place(piece.start, piece.end), pages=spans.place(begin, end).pages)
    inner = boundaries.within(piece.start, piece.end)
    if not inner:
        return place
    parts = zip([piece.start, *inner], [*inner, piece.end], strict=True)
    widest = max(parts, key=lambda part: part[1] - part[0])
    return replace(place, heading=spans.place(*widest).heading)


def _name(content_hash: str, piece: Piece) -> str:
    facts = "\0".join((content_hash, str(piece.start), str(piece.end), piece.text))
    return hashlib.sha256(facts.encode()).hexdigest()[:ID_CHARACTERS]


def _read_spans(store: ArtifactStore, organisation: str, spans: Artifact | None) -> Iterator[Span]:
    """Row by row: as a whole, the rows of a long recording take ten times the memory of the spans."""
    if spans is None:
        return
    text = store.read(organisation, spans).decode()
    decoder = json.JSONDecoder()
    position = text.find("[") + 1
    try:
        while (begin := text.find("[", position)) >= 0:
            row, position = decoder.raw_decode(text, begin)
            yield Span.from_json(row)
    except (ValueError, TypeError) as error:
        raise CorruptInput(
            f"the spans of the document cannot be read ({error}): run its extraction again",
            error_code="SPANS_UNREADABLE",
        ) from error
