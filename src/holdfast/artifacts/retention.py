"""Removes artifacts that nobody needs, while others work, and never one that somebody does."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database
from holdfast.errors import InvalidInput

# Whoever puts an object must record its use within this time; no attempt lasts as long.
GRACE_SECONDS = 24 * 3600.0
LEAST_GRACE_SECONDS = 3600.0
PAGE = 500


@dataclass(frozen=True, slots=True)
class Removed:
    """How many objects went, and how large they were together."""

    count: int = 0
    bytes: int = 0

    def __add__(self, other: "Removed") -> "Removed":
        return Removed(self.count + other.count, self.bytes + other.bytes)


async def remove_unused(database: Database, store: ArtifactStore, *, grace_seconds: float = GRACE_SECONDS) -> Removed:
    """Remove objects that no document uses and that nobody put within the grace. Safe at any time, by several at once.

    Looks at every object of the organisations that have documents; a store belongs to one database.
    """
    if grace_seconds < LEAST_GRACE_SECONDS:
        raise InvalidInput(
            f"a grace of {grace_seconds:g} s could remove what work under way has put and not recorded yet: "
            f"give at least {LEAST_GRACE_SECONDS:g} s"
        )
    limit = await database.fetchval("select holdfast.clock()") - timedelta(seconds=grace_seconds)
    removed = Removed()
    async for organisation, hashes in _forgotten(database, limit):
        removed += await asyncio.to_thread(_remove, store, organisation, hashes, limit)
    for organisation in await _organisations(database):
        removed += await _remove_unrecorded(database, store, organisation, limit)
    await asyncio.to_thread(store.remove_leftovers, unless_put_since=limit)
    return removed


async def _forgotten(database: Database, limit: datetime) -> AsyncIterator[tuple[str, list[str]]]:
    """Forget what no document uses, page by page. The record goes before the object, never after it."""
    after = ("", "")
    while page := await database.fetch("select * from holdfast.unused_artifacts($1, $2, $3, $4)", limit, *after, PAGE):
        after = (page[-1]["organisation"], page[-1]["hash"])
        for organisation in dict.fromkeys(row["organisation"] for row in page):
            hashes = [row["hash"] for row in page if row["organisation"] == organisation]
            rows = await database.fetch(
                "select hash from holdfast.forget_unused_artifacts($1, $2)", organisation, hashes
            )
            yield organisation, [row["hash"] for row in rows]


async def _remove_unrecorded(database: Database, store: ArtifactStore, organisation: str, limit: datetime) -> Removed:
    """Remove what was put and never recorded: its process was killed in between."""
    removed = Removed()
    old = (content_hash for content_hash, kept in store.list(organisation) if kept.put_at <= limit)
    while page := await asyncio.to_thread(lambda: list(islice(old, PAGE))):
        rows = await database.fetch(
            "select hash from holdfast.artifact where organisation = $1 and hash = any ($2)", organisation, page
        )
        unrecorded = set(page) - {row["hash"] for row in rows}
        removed += await asyncio.to_thread(_remove, store, organisation, sorted(unrecorded), limit)
    return removed


async def _organisations(database: Database) -> list[str]:
    """Every organisation that has documents, each found by one step along the index."""
    names: list[str] = []
    name: str | None = ""
    while name is not None:
        name = await database.fetchval("select min(organisation) from holdfast.document where organisation > $1", name)
        names += [] if name is None else [name]
    return names


def _remove(store: ArtifactStore, organisation: str, hashes: Sequence[str], limit: datetime) -> Removed:
    sizes = [store.remove(organisation, content_hash, unless_put_since=limit) for content_hash in hashes]
    gone = [size for size in sizes if size is not None]
    return Removed(len(gone), sum(gone))
