"""Removing what nobody needs while others work: never what somebody does."""

import os
import time
from pathlib import Path

import pytest

from holdfast.artifacts.address import key_of
from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.removal import Removed
from holdfast.artifacts.retention import remove_unused
from holdfast.artifacts.store import ArtifactStore
from holdfast.artifacts.upload import Upload
from holdfast.db.connection import Database
from tests.artifacts.test_uses import documents, recorded, use
from tests.conftest import Clock

YEARS = 10 * 365 * 24 * 3600.0


async def unused(database: Database, store: ArtifactStore) -> Artifact:
    """An artifact that a document needed until just now."""
    (document,) = await documents(database)
    artifact = store.put_bytes("acme", b"not needed")
    await use(database, document, text=artifact)
    await database.execute("delete from holdfast.artifact_use")
    return artifact


def turn_clock(folder: Path, seconds: float) -> None:
    """As if everything had been put by a clock that is so much off."""
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() + seconds,) * 2)


async def test_what_nobody_uses_or_leases_goes_at_once(database: Database, store: ArtifactStore) -> None:
    artifact = await unused(database, store)
    assert await remove_unused(database, store) == Removed(1, 10)
    assert not store.exists("acme", artifact)
    assert await recorded(database) == []


async def test_what_a_document_uses_stays(database: Database, clock: Clock, store: ArtifactStore) -> None:
    (document,) = await documents(database)
    artifact = store.put_bytes("acme", b"needed")
    await use(database, document, original=artifact)
    await clock.advance(days=1000)
    assert await remove_unused(database, store) == Removed()
    assert store.read("acme", artifact) == b"needed"


async def test_what_was_put_and_never_recorded_goes_a_day_later_whether_there_are_documents_or_not(
    database: Database, clock: Clock, store: ArtifactStore
) -> None:
    artifact = await Upload(database, store, "newcomer").put_bytes(b"orphan")
    await clock.advance(hours=23)
    assert await remove_unused(database, store) == Removed()
    assert store.exists("newcomer", artifact)
    await clock.advance(hours=2)
    assert await remove_unused(database, store) == Removed(1, 6)
    assert list(store.list("newcomer")) == []
    assert await database.fetchval("select count(*) from holdfast.artifact_lease") == 0


async def test_what_was_released_goes_at_once(database: Database, store: ArtifactStore) -> None:
    upload = Upload(database, store, "acme")
    await upload.put_bytes(b"for nothing")
    await upload.release()
    assert await remove_unused(database, store) == Removed(1, 11)


@pytest.mark.parametrize("off", [-YEARS, YEARS])
async def test_the_clock_of_the_store_does_not_matter(
    database: Database, folder_store: ArtifactStore, folder: Path, off: float
) -> None:
    artifact = await unused(database, folder_store)
    leased = await Upload(database, folder_store, "acme").put_bytes(b"on its way")
    turn_clock(folder, off)
    assert await remove_unused(database, folder_store) == Removed(1, 10)
    assert not folder_store.exists("acme", artifact)
    assert folder_store.exists("acme", leased)


async def test_what_no_row_speaks_of_goes_at_once(database: Database, store: ArtifactStore) -> None:
    """Only earlier versions and people put without a word."""
    await documents(database)
    store.put_bytes("acme", b"by hand")
    assert await remove_unused(database, store) == Removed(1, 7)
    assert list(store.list("acme")) == []
    assert await recorded(database) == []


async def test_what_was_cut_short_and_no_row_speaks_of_can_be_put_while_it_goes(
    database: Database, folder_store: ArtifactStore, folder: Path
) -> None:
    artifact = folder_store.put_bytes("acme", b"by hand")
    os.truncate(folder / key_of("acme", artifact.hash), 3)
    cut = f'[{{"hash": "{artifact.hash}", "size": 3}}]'
    await database.execute("select holdfast.record_orphans('acme', $1::text::jsonb)", cut)
    (document,) = await documents(database)
    upload = Upload(database, folder_store, "acme")
    async with database.transaction() as connection:
        await upload.use(connection, document, {"text": await upload.put_bytes(b"by hand")})
    assert await recorded(database) == [("acme", artifact.hash, 7)]


async def test_what_earlier_versions_left_beside_objects_goes(database: Database, bucket: str) -> None:
    store = ArtifactStore(bucket)
    (document,) = await documents(database)
    kept = store.put_bytes("acme", b"needed")
    await use(database, document, text=kept)
    key = key_of("acme", kept.hash)
    for left in (f"{key}.put", f"{key_of('acme', '0' * 64)}.put", f".removing/f00d.{key.replace('/', '.')}"):
        store._shelf.objects.write(left, b"")
    await remove_unused(database, store)
    assert [found.key for found in store._shelf.objects.list("")] == [key]


async def test_organisations_unknown_to_the_database_are_left_alone(
    database: Database, clock: Clock, folder_store: ArtifactStore
) -> None:
    await documents(database)
    artifact = folder_store.put_bytes("another database's", b"theirs")
    await clock.advance(days=1000)
    assert await remove_unused(database, folder_store) == Removed()
    assert folder_store.exists("another database's", artifact)


async def test_many_pages_are_all_looked_at(
    database: Database, folder_store: ArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.artifacts.retention.PAGE", 3)
    monkeypatch.setattr("holdfast.artifacts.removal.BATCH", 2)
    (needing,) = await documents(database)
    for n in range(20):
        artifact = folder_store.put_bytes("acme", b"%d" % n)
        await use(database, needing, **{f"kind {n}": artifact})
    await database.execute("delete from holdfast.artifact_use where right(kind, 1) in ('0', '3', '5')")
    orphans = [folder_store.put_bytes("acme", b"orphan %d" % n) for n in range(7)]
    assert (await remove_unused(database, folder_store)).count == 6 + len(orphans)
    assert len(list(folder_store.list("acme"))) == 14
