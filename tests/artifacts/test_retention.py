"""Removing what nobody needs while others work: never what somebody does."""

import asyncio
import os
import random
import time
from pathlib import Path

import pytest

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.retention import Removed, remove_unused
from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database, connect
from holdfast.errors import InvalidInput
from holdfast.settings import Settings
from tests.artifacts.test_uses import documents, recorded, use
from tests.conftest import Clock

HOUR = 3600.0
HALF_A_SECOND = 0.5


async def unused(database: Database, store: ArtifactStore) -> Artifact:
    """An artifact that a document needed until just now."""
    (document,) = await documents(database)
    artifact = store.put_bytes("acme", b"not needed")
    await use(database, document, text=artifact)
    await database.execute("delete from holdfast.artifact_use")
    return artifact


def grow_old(folder: Path, artifact: Artifact) -> None:
    (path,) = folder.rglob(artifact.hash)
    os.utime(path, (time.time() - 25 * HOUR,) * 2)


async def test_what_nobody_uses_goes_when_the_grace_is_over(
    database: Database, clock: Clock, store: ArtifactStore
) -> None:
    artifact = await unused(database, store)
    await clock.advance(hours=23)
    assert await remove_unused(database, store) == Removed(0, 0)
    assert store.exists("acme", artifact)
    await clock.advance(hours=2)
    assert await remove_unused(database, store) == Removed(1, 10)
    assert not store.exists("acme", artifact)
    assert await recorded(database) == []


async def test_what_a_document_uses_stays(database: Database, clock: Clock, store: ArtifactStore) -> None:
    (document,) = await documents(database)
    artifact = store.put_bytes("acme", b"needed")
    await use(database, document, original=artifact)
    await clock.advance(days=1000)
    assert await remove_unused(database, store) == Removed(0, 0)
    assert store.read("acme", artifact) == b"needed"


async def test_what_was_put_and_never_recorded_goes_when_the_grace_is_over(
    database: Database, clock: Clock, store: ArtifactStore
) -> None:
    await documents(database)
    artifact = store.put_bytes("acme", b"orphan")
    assert await remove_unused(database, store) == Removed(0, 0)
    assert store.exists("acme", artifact)
    await clock.advance(hours=25)
    assert await remove_unused(database, store) == Removed(1, 6)
    assert list(store.list("acme")) == []


async def test_organisations_unknown_to_the_database_are_left_alone(
    database: Database, clock: Clock, folder_store: ArtifactStore
) -> None:
    await documents(database)
    artifact = folder_store.put_bytes("another database's", b"theirs")
    await clock.advance(days=1000)
    assert await remove_unused(database, folder_store) == Removed(0, 0)
    assert folder_store.exists("another database's", artifact)


async def test_what_was_put_again_within_the_grace_stays(
    database: Database, folder_store: ArtifactStore, folder: Path
) -> None:
    artifact = await unused(database, folder_store)
    await database.execute("update holdfast.artifact set stored_at = stored_at - interval '25 h'")
    grow_old(folder, artifact)
    folder_store.put_bytes("acme", b"not needed")
    assert await remove_unused(database, folder_store) == Removed(0, 0)
    assert folder_store.exists("acme", artifact)


async def test_what_was_put_again_in_a_bucket_within_the_grace_stays(database: Database, bucket: str) -> None:
    """The content is not sent again, yet it counts as put just now."""
    store = ArtifactStore(bucket)
    await unused(database, store)
    ((_, before),) = store.list("acme")
    await asyncio.sleep(1.1)  # a bucket's clock counts whole seconds
    store.put_bytes("acme", b"not needed")
    ((_, after),) = store.list("acme")
    assert after.put_at > before.put_at
    assert store._shelf.objects.look(after.key) == before
    assert store.remove("acme", after.key.rpartition("/")[2], unless_put_since=before.put_at) is None


async def test_many_pages_are_all_looked_at(
    database: Database, clock: Clock, folder_store: ArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.artifacts.retention.PAGE", 3)
    (needing,) = await documents(database)
    for n in range(20):
        artifact = folder_store.put_bytes("acme", b"%d" % n)
        await use(database, needing, **{f"kind {n}": artifact})
    await database.execute("delete from holdfast.artifact_use where right(kind, 1) in ('0', '3', '5')")
    orphans = [folder_store.put_bytes("acme", b"orphan %d" % n) for n in range(7)]
    await clock.advance(hours=25)
    assert (await remove_unused(database, folder_store)).count == 6 + len(orphans)
    assert len(list(folder_store.list("acme"))) == 14


async def test_a_grace_too_short_for_work_under_way_is_refused(database: Database, folder_store: ArtifactStore) -> None:
    with pytest.raises(InvalidInput, match="at least 3600 s"):
        await remove_unused(database, folder_store, grace_seconds=60)


async def test_retention_while_jobs_run_never_leaves_a_use_without_its_object(
    dsn: str, folder_store: ArtifactStore
) -> None:
    """Some contents, put, used and let go by many, while whatever is older than half a second is removed."""
    async with connect(Settings(database_url=dsn, pool_size=8)) as database:
        made = await documents(database, 6)
        await make_the_grace_last(database, HALF_A_SECOND)
        over = asyncio.Event()
        working = asyncio.gather(*(work(database, folder_store, document) for document in made))
        cleaning = asyncio.ensure_future(clean(database, folder_store, over))
        lost = await working
        over.set()
        assert (await cleaning).count > 0
        assert sum(lost) == 0


async def make_the_grace_last(database: Database, seconds: float) -> None:
    """The database's clock is ahead of the store's by all but that much of a day; its own records count as old."""
    await database.execute(
        f"""
        create or replace function holdfast.clock() returns timestamptz
        language sql volatile as $$ select clock_timestamp() + interval '{24 * HOUR - seconds} s' $$
        """
    )


async def work(database: Database, store: ArtifactStore, document: int) -> int:
    """Put, use, read and let go; says how often what was used within the grace could not be read."""
    chance, lost = random.Random(document), 0
    for _ in range(30):
        data = b"%d" % chance.randrange(40)
        began = time.monotonic()
        artifact = await asyncio.to_thread(store.put_bytes, "acme", data)
        await use(database, document, text=artifact)
        in_time = time.monotonic() - began < HALF_A_SECOND
        lost += in_time and not await asyncio.to_thread(store.exists, "acme", artifact)
        await database.execute("delete from holdfast.artifact_use where document_id = $1", document)
        aged = "update holdfast.artifact set stored_at = stored_at - interval '2 days' where hash = $1"
        await database.execute(aged, artifact.hash)
        await asyncio.sleep(chance.random() * 0.1)
    return lost


async def clean(database: Database, store: ArtifactStore, over: asyncio.Event) -> Removed:
    removed = Removed()
    while not over.is_set():
        removed += await remove_unused(database, store)
    return removed
