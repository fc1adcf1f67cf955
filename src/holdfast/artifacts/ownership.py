"""Proves that every object in the store has an owner, and that nobody leases one for ever."""

import asyncio
from collections.abc import Iterator
from itertools import islice

from holdfast.artifacts.address import shelf_of
from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.retention import PAGE, RECORDED, organisations
from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database
from holdfast.engine.doctor import IDS_SHOWN, Finding

OLD_LEASES = """
with old as (
    select organisation, hash, holder from holdfast.artifact_lease where leased_at < holdfast.clock() - interval '1 day'
)
select count(*) as count, (array_agg(distinct hash))[:$1] as hashes, min(holder) as holder from old
"""


async def ownership_findings(database: Database, store: ArtifactStore) -> list[Finding]:
    """What an artifact's row, lease and object say against each other: a finding of each kind, or none.

    Lists every object of the store: that takes a while.
    """
    found = [await _old_leases(database), await _ownerless(database, store)]
    return [finding for finding in found if finding is not None]


async def _old_leases(database: Database) -> Finding | None:
    row = await database.fetchrow(OLD_LEASES, IDS_SHOWN)
    if row is None or not row["count"]:
        return None
    return Finding(
        check="leases",
        invariant="I23",
        title="an artifact is leased for more than a day",
        subject="artifact",
        count=row["count"],
        ids=tuple(row["hashes"]),
        explanation=f"whoever put it, such as {row['holder']}, died before it was recorded who needs it",
        mend="holdfast clean ends such leases and removes what nobody needs; a worker does so every hour",
        repairable=False,
    )


async def _ownerless(database: Database, store: ArtifactStore) -> Finding | None:
    known = {shelf_of(name): name for name in await organisations(database)}
    shown: list[str] = []
    count = 0
    for folder in await asyncio.to_thread(store.folders):
        objects = store.list_folder(folder)
        while page := await asyncio.to_thread(_page, objects):
            hashes = await _unrecorded(database, store, known.get(folder), page)
            count += len(hashes)
            shown += [f"{folder}/{one[:2]}/{one}" for one in hashes][: IDS_SHOWN - len(shown)]
    if not count:
        return None
    return Finding(
        check="owners",
        invariant="I23",
        title="an object in the store has no owner",
        subject="artifact",
        count=count,
        ids=tuple(shown),
        explanation="the database knows nothing of it: an earlier version, a person or another database put it there",
        mend="holdfast clean removes those of the organizations it knows; look at the others, then remove them by hand",
        repairable=False,
    )


def _page(objects: Iterator[Artifact]) -> list[Artifact]:
    return list(islice(objects, PAGE))


async def _unrecorded(
    database: Database, store: ArtifactStore, organisation: str | None, page: list[Artifact]
) -> list[str]:
    """The hashes that no row speaks of. Asked twice: some may be removed or put anew meanwhile."""
    hashes = [one.hash for one in page]
    if organisation is None:
        return hashes
    for _ in range(2):
        rows = await database.fetch(RECORDED, organisation, hashes)
        recorded = {row["hash"] for row in rows}
        missing = [one for one in hashes if one not in recorded]
        hashes = [one for one in missing if await asyncio.to_thread(store.size_of, organisation, one) is not None]
    return hashes
