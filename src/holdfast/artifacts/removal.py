"""Removes objects that nobody uses or leases, while others put and use the same content."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database

# Few, so that whoever wants to put one of them waits seconds.
BATCH = 100
# Half of the time that the database keeps others from putting them; a request under way may take the other half.
REMOVING_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Removed:
    """How many objects went, how large they were together, and how many stay because somebody may need them."""

    count: int = 0
    bytes: int = 0
    waiting: int = 0

    def __add__(self, other: "Removed") -> "Removed":
        return Removed(self.count + other.count, self.bytes + other.bytes, self.waiting + other.waiting)


async def remove_artifacts(
    database: Database, store: ArtifactStore, organisation: str, hashes: Sequence[str]
) -> Removed:
    """Remove those that no document uses and nobody leases. Safe at any time, by several at once.

    Nobody puts them in between. Should this process die, others go on ten minutes later.
    """
    removed = Removed()
    for start in range(0, len(hashes), BATCH):
        removed += await _remove_batch(database, store, organisation, hashes[start : start + BATCH])
    return removed


async def _remove_batch(database: Database, store: ArtifactStore, organisation: str, hashes: Sequence[str]) -> Removed:
    began = _clock()
    rows = await database.fetch("select * from holdfast.begin_removal($1, $2)", organisation, list(hashes))
    begun = [row["hash"] for row in rows if row["until"] is not None]
    removed = Removed(waiting=len(rows) - len(begun))
    if not begun:
        return removed
    gone: dict[str, int | None] = {}
    try:
        await asyncio.to_thread(_remove, store, organisation, begun, began, gone)
    finally:
        if gone:
            until = max(row["until"] for row in rows if row["until"] is not None)
            await database.execute("select holdfast.finish_removal($1, $2, $3)", organisation, list(gone), until)
    sizes = [size for size in gone.values() if size is not None]
    return removed + Removed(len(sizes), sum(sizes), len(begun) - len(gone))


def _remove(
    store: ArtifactStore, organisation: str, hashes: Sequence[str], began: float, gone: dict[str, int | None]
) -> None:
    """Remove the objects, as long as nobody can have begun to put them again, and note which are gone."""
    for content_hash in hashes:
        if _clock() - began > REMOVING_SECONDS:
            return
        gone[content_hash] = store.remove(organisation, content_hash)


def _clock() -> float:
    """Seconds that go on while the machine sleeps, where the system counts them."""
    source = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if source is None else time.clock_gettime(source)
