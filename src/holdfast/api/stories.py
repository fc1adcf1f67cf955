"""What a language model wrote: stories and readings."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from holdfast.api.callers import Reader
from holdfast.api.jobs import Id, Word
from holdfast.api.shapes import Shape
from holdfast.stories.reading import MOST_ENTITIES

stories = APIRouter(tags=["stories"])


class EntityCount(Shape):
    """Someone or something, in how many stories, and how often in all of them."""

    name: str
    stories: int
    mentions: int


class Story(Shape):
    """What was told of an article."""

    document_id: int
    title: str | None
    url: str | None
    published_at: str | None
    summary_neutral: str
    summary_spicy: str
    category: str = Field(examples=["politics"])
    severity: int = Field(ge=0, le=10)
    primary_actor: str | None
    top_entities: list[str]
    entity_counter: dict[str, int] = Field(examples=[{"Harbour Office": 3}])
    model: str
    told_at: datetime


class Reading(Shape):
    """A text that was generated from a prompt."""

    document_id: int
    text: str
    model: str
    generated_at: datetime


@stories.get("/stories/entities")
async def entities(
    call: Reader, organisation: Word = None, limit: Annotated[int, Query(ge=1, le=MOST_ENTITIES)] = 20
) -> list[EntityCount]:
    """What an organisation's stories speak of most, counted over all of them."""
    rows = await call.app.story_entities(call.organisation(organisation), limit=limit)
    return [EntityCount.model_validate(row) for row in rows]


@stories.get("/stories/{document_id}")
async def story(call: Reader, document_id: Id) -> Story:
    """The story of an article."""
    return Story.model_validate(await call.app.story(document_id))


@stories.get("/readings/{document_id}")
async def reading(call: Reader, document_id: Id) -> Reading:
    """The text that was generated from a prompt."""
    return Reading.model_validate(await call.app.reading(document_id))
