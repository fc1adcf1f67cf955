"""Reads a document passage by passage, as it was chunked."""

from dataclasses import dataclass

from holdfast.db.connection import Database
from holdfast.errors import InvalidInput
from holdfast.standard import Place

MOST_PASSAGES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A passage, where it stands, and what situates it."""

    document_id: int
    ordinal: int
    title: str
    place: Place
    text: str
    context: str


async def passages_of(database: Database, document_id: int, *, first: int = 0, limit: int = 20) -> list[Passage]:
    """Passages in their order, from one on. Raises NotFound for a document that is not there."""
    if first < 0 or not 1 <= limit <= MOST_PASSAGES:
        raise InvalidInput(f"read 1 to {MOST_PASSAGES} passages from 0 on, not {limit} from {first}")
    rows = await database.fetch("select * from holdfast.passages_of($1, $2, $3)", document_id, first, limit)
    return [Passage(**{**row, "place": Place.from_json(row["place"])}) for row in rows]
