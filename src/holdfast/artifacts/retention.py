"""Removes artifacts that nobody needs, while others work, and never one that somebody does."""

import asyncio
from itertools import islice

from holdfast.artifacts.removal import Removed, remove_artifacts
from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database
from holdfast.engine.strict_json import dump

PAGE = 500

RECORDED = "select hash from holdfast.artifact where organisation = $1 and hash = any ($2)"
# Each found by a step along the index; documents that were deleted are still there as empty rows.
NEXT_ORGANISATION = """
select least((select min(organisation) from holdfast.document where organisation > $1),
             (select min(organisation) from holdfast.artifact where organisation > $1))
"""


async def remove_unused(database: Database, store: ArtifactStore) -> Removed:
    """Remove objects that no document uses and nobody leases. Safe at any time, by several at once.

    Looks at every object of the organisations that the database knows; a store belongs to one database.
    """
    while await database.fetchval("select holdfast.end_dead_leases($1)", PAGE):
        pass
    for organisation in await organisations(database):
        await _record_orphans(database, store, organisation)
    removed = await _remove_unused(database, store)
    await asyncio.to_thread(store.remove_leftovers)
    return removed


async def organisations(database: Database) -> list[str]:
    """Every organisation that has or had documents, or artifacts."""
    names: list[str] = []
    name: str | None = ""
    while name is not None:
        name = await database.fetchval(NEXT_ORGANISATION, name)
        names += [] if name is None else [name]
    return names


async def _remove_unused(database: Database, store: ArtifactStore) -> Removed:
    removed = Removed()
    after = ("", "")
    while page := await database.fetch("select * from holdfast.unused_artifacts($1, $2, $3)", *after, PAGE):
        after = (page[-1]["organisation"], page[-1]["hash"])
        for organisation in dict.fromkeys(row["organisation"] for row in page):
            hashes = [row["hash"] for row in page if row["organisation"] == organisation]
            removed += await remove_artifacts(database, store, organisation, hashes)
    return removed


async def _record_orphans(database: Database, store: ArtifactStore, organisation: str) -> None:
    """Make known what an earlier version or a person put without a word: then it is removed as all others are."""
    objects = store.list_without_leftovers(organisation)
    while page := await asyncio.to_thread(lambda: list(islice(objects, PAGE))):
        rows = await database.fetch(RECORDED, organisation, [one.hash for one in page])
        recorded = {row["hash"] for row in rows}
        orphans = [one.to_json() for one in page if one.hash not in recorded]
        if orphans:
            items = dump(orphans).decode()
            await database.execute("select holdfast.record_orphans($1, $2::text::jsonb)", organisation, items)
