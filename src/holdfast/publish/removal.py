"""Removes documents with everything that was made of them, and says how much that was."""

from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from holdfast.artifacts.removal import remove_artifacts
from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database

PURGED_AT_ONCE = 100
CHUNKS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What was removed. `artifacts_waiting` are objects that somebody is putting again: retention decides later."""

    documents: int = 0
    chunks: int = 0
    embeddings: int = 0
    entities: int = 0
    relations: int = 0
    stories: int = 0
    readings: int = 0
    answers: int = 0
    config_files: int = 0
    stanzas: int = 0
    settings: int = 0
    errors: int = 0
    artifacts: int = 0
    bytes: int = 0
    artifacts_waiting: int = 0


async def delete_document(database: Database, store: ArtifactStore, document_id: int, *, actor: str) -> Receipt:
    """Remove a document, its older versions, the copies of its content and its parts for good. Twice: NotFound.

    One transaction; the objects follow it. Should the process die in between, retention removes them.
    """
    removed: dict[str, Any] = await database.fetchval("select holdfast.delete_document($1, $2)", document_id, actor)
    objects = await remove_artifacts(database, store, removed["organisation"], removed["unused"])
    return Receipt(**_known(removed), artifacts=objects.count, bytes=objects.bytes, artifacts_waiting=objects.waiting)


async def purge_superseded(database: Database, *, older_than: timedelta) -> Receipt:
    """Remove what was made of versions replaced that long ago. Their objects are retention's to remove."""
    limit = await database.fetchval("select holdfast.clock() - $1::interval", older_than)
    total: dict[str, int] = {}
    while True:
        removed = await database.fetchval("select holdfast.purge_superseded($1, $2)", limit, PURGED_AT_ONCE)
        if not removed["documents"]:
            return Receipt(**total)
        total = {name: total.get(name, 0) + count for name, count in _known(removed).items()}


async def remove_retired_generations(database: Database) -> int:
    """Remove the generations that newer ones replaced, and those that came to nothing: how many chunks."""
    chunks = 0
    while True:
        removed = await database.fetchval("select holdfast.remove_retired_generations($1)", CHUNKS_AT_ONCE)
        if not removed["generations"]:
            return chunks
        chunks += int(removed["chunks"])


def _known(counts: dict[str, Any]) -> dict[str, int]:
    names = {field.name for field in fields(Receipt)}
    return {name: int(count) for name, count in counts.items() if name in names}
