"""What a search answers: passages with where they stand and why they were found."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from holdfast.standard import Place

Mode: TypeAlias = Literal["fused", "words", "vectors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """What speaks for a passage: its ranks, from 1, among those found by words and by vector, if it is among them."""

    words_rank: int | None
    words_score: float | None
    matched_words: tuple[str, ...]
    vector_rank: int | None
    similarity: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A passage that was found. `title` is what people call its document, `source_name` its file.

    `place` is where in the passage the question's words stand together, `passage_place` where all of it stands; found
    by its meaning alone it has the same for both. `highlights` are ranges of characters of `text`, from and up to, in
    order, and `excerpt` is the range worth reading first.
    """

    document_id: int
    ordinal: int
    chunk_id: str
    title: str
    source_name: str
    source_platform: str
    source_location: str | None
    metadata: Mapping[str, Any]
    place: Place
    passage_place: Place
    text: str
    context: str
    score: float
    why: Why
    highlights: tuple[tuple[int, int], ...]
    excerpt: tuple[int, int]

    def to_json(self) -> dict[str, Any]:
        """As programs are answered."""
        return {
            "document_id": self.document_id,
            "ordinal": self.ordinal,
            "chunk_id": self.chunk_id,
            "title": self.title,
            "source_name": self.source_name,
            "source_platform": self.source_platform,
            "source_location": self.source_location,
            "metadata": dict(self.metadata),
            "place": self.place.to_json(),
            "passage_place": self.passage_place.to_json(),
            "text": self.text,
            "context": self.context,
            "score": self.score,
            "why": asdict(self.why),
            "highlights": [list(span) for span in self.highlights],
            "excerpt": list(self.excerpt),
        }


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a question, best first. `mode` is how it was found; `notes` say why that is less than asked for."""

    hits: tuple[Hit, ...]
    mode: Mode
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As programs are answered."""
        return {"mode": self.mode, "notes": list(self.notes), "hits": [hit.to_json() for hit in self.hits]}
