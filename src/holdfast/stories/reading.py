"""Reads stories back: one, and what all of an organisation's speak of."""

from dataclasses import dataclass
from datetime import datetime

from holdfast.db.connection import Database
from holdfast.errors import InvalidInput, NotFound

MOST_ENTITIES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStory:
    """A story, what it was told of, and by which model."""

    document_id: int
    organisation: str
    title: str | None
    url: str | None
    published_at: str | None
    summary_neutral: str
    summary_spicy: str
    category: str
    severity: int
    primary_actor: str | None
    top_entities: list[str]
    entity_counter: dict[str, int]
    model: str
    told_at: datetime


@dataclass(frozen=True, slots=True)
class EntityCount:
    """Someone or something, in how many stories, and how often in all of them."""

    name: str
    stories: int
    mentions: int


async def story_of(database: Database, document_id: int) -> StoredStory:
    """The story of a document. Raises NotFound where none was told, or not to this organisation."""
    row = await database.fetchrow("select * from holdfast.story_of($1)", document_id)
    if row is None:
        raise NotFound(f"no story was told of document {document_id}: see holdfast show --document {document_id}")
    return StoredStory(**{name: row[name] for name in StoredStory.__slots__})


async def story_entities(database: Database, organisation: str, *, limit: int = 20) -> list[EntityCount]:
    """What its stories speak of most, the most mentioned first."""
    if not 1 <= limit <= MOST_ENTITIES:
        raise InvalidInput(f"ask for 1 to {MOST_ENTITIES} entities, not {limit}")
    rows = await database.fetch("select * from holdfast.story_entities($1, $2)", organisation, limit)
    return [EntityCount(**row) for row in rows]
