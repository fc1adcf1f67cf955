"""Search over HTTP."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from holdfast.api.callers import Reader
from holdfast.api.jobs import Word
from holdfast.api.shapes import Shape
from holdfast.search.hit import Mode
from holdfast.search.search import MOST_HITS

searching = APIRouter(tags=["search"])


class Why(Shape):
    """What speaks for a passage."""

    words_rank: int | None
    words_score: float | None
    matched_words: list[str]
    vector_rank: int | None
    similarity: float | None


class Passage(Shape):
    """A passage that was found, and where it stands: page, heading, slide, sheet, seconds."""

    document_id: int
    ordinal: int
    title: str
    source_name: str
    source_platform: str
    source_location: str | None
    metadata: dict[str, Any]
    place: dict[str, Any] = Field(
        description="Where the words of the question stand together in `text`.",
        examples=[{"pages": [3], "heading": ["Opening the tidal gate"]}],
    )
    passage_place: dict[str, Any] = Field(description="Where all of `text` stands.")
    text: str
    context: str
    score: float
    why: Why
    highlights: list[tuple[int, int]] = Field(description="Ranges of characters of `text`.")
    excerpt: tuple[int, int] = Field(description="The range of `text` that is worth reading first.")


class Entity(Shape):
    """Something that the passages speak of, and what it stands next to."""

    name: str
    kind: str
    neighbours: list[str]


class Answer(Shape):
    """Passages, best first. `notes` say why the way of searching is less than asked for."""

    mode: Mode
    notes: list[str]
    hits: list[Passage]
    entities: list[Entity] | None = None


@searching.get("/search")
async def search(
    call: Reader,
    q: Annotated[str, Query(min_length=1, max_length=2000, description='Words, "phrases" and -exclusions.')],
    organisation: Word = None,
    limit: Annotated[int, Query(ge=1, le=MOST_HITS)] = 10,
    mode: Mode = "fused",
    graph: bool = False,
    platform: Word = None,
    location: Annotated[str | None, Query(min_length=1, max_length=4096)] = None,
    name: Word = None,
    document_id: Annotated[int | None, Query(ge=1, le=2**63 - 1)] = None,
) -> Answer:
    """Find passages by words and meaning."""
    whose = call.organisation(organisation)
    found = await call.app.search.find(
        q,
        organisation=whose,
        limit=limit,
        mode=mode,
        source_platform=platform,
        source_location=location,
        source_name=name,
        document_id=document_id,
    )
    spoken = await call.app.neighbourhood(whose, found.hits) if graph else None
    answer = Answer.model_validate(found.to_json())
    if spoken is not None:
        answer.entities = [
            Entity(name=one.name, kind=one.kind, neighbours=[near.name for near in one.neighbours]) for one in spoken
        ]
    return answer
