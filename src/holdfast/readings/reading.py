"""Reads generated texts back."""

from dataclasses import dataclass
from datetime import datetime

from holdfast.db.connection import Database
from holdfast.errors import NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A text, and the model that wrote it."""

    document_id: int
    organisation: str
    text: str
    model: str
    generated_at: datetime


async def reading_of(database: Database, document_id: int) -> Reading:
    """The text generated from a document. Raises NotFound where there is none, or not for this organisation."""
    row = await database.fetchrow("select * from holdfast.reading_of($1)", document_id)
    if row is None:
        raise NotFound(f"document {document_id} has no reading: see holdfast show --document {document_id}")
    return Reading(**row)
