"""What is known from documents: how much of it, and what their owners should know about it."""

from dataclasses import dataclass

from holdfast.db.connection import Database


@dataclass(frozen=True, slots=True)
class Knowledge:
    """How much was learned."""

    chunks: int
    embeddings: int
    entities: int
    relations: int


async def knowledge_of(database: Database, document_ids: list[int]) -> Knowledge:
    """Count what these documents contributed."""
    row = await database.fetchrow("select * from holdfast.knowledge_of($1)", document_ids)
    assert row is not None
    return Knowledge(**row)


async def warnings_of(database: Database, document_ids: list[int]) -> list[dict[str, object]]:
    """Every warning about these documents."""
    return [dict(row) for row in await database.fetch("select * from holdfast.warnings_of($1)", document_ids)]
