"""Putting and removing the same content at the same time: what is accepted has its bytes, whoever dies."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.removal import Removed, remove_artifacts
from holdfast.artifacts.retention import remove_unused
from holdfast.artifacts.store import ArtifactStore
from holdfast.artifacts.upload import Upload
from holdfast.db.connection import Database, connect
from holdfast.errors import NotFound, StorageUnavailable
from holdfast.settings import Settings
from tests.artifacts.test_uses import ONE, begin_removal, documents, finish_removal, lease, recorded, use_leased
from tests.conftest import Clock

CONTENTS = 12
USED = "select distinct hash, size from holdfast.artifact_use join holdfast.artifact using (organisation, hash)"

# Begins to remove everything and is killed when all objects are gone and no row is: between begin and finish.
REMOVER = """
import asyncio, os, signal, sys
from holdfast.artifacts.removal import remove_artifacts
from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database, connect
from holdfast.settings import Settings

class Dying(ArtifactStore):
    def remove(self, organisation, content_hash):
        if sys.argv[4] == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        super().remove(organisation, content_hash)
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    async with connect(Settings(database_url=sys.argv[1])) as database:
        await remove_artifacts(database, Dying(sys.argv[2]), "acme", [sys.argv[3]])

asyncio.run(main())
"""

WORKER = """
import asyncio, random, sys
from holdfast.artifacts.retention import remove_unused
from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import connect
from holdfast.settings import Settings
from tests.artifacts.test_leases import clean, work

async def main():
    async with connect(Settings(database_url=sys.argv[1], pool_size=4)) as database:
        store = ArtifactStore(sys.argv[2])
        working = (work(database, store, int(one), rounds=10**6) for one in sys.argv[3:])
        await asyncio.gather(*working, clean(database, store, lambda count: None))

asyncio.run(main())
"""


async def killed(program: str, *arguments: str) -> None:
    """Run until it kills itself."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, *arguments)
    assert await process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_remover_killed_between_begin_and_finish_holds_others_up_for_ten_minutes_at_most(
    dsn: str, database: Database, clock: Clock, folder_store: ArtifactStore, folder_url: str, moment: str
) -> None:
    upload = Upload(database, folder_store, "acme")
    artifact = await upload.put_bytes(b"content")
    await upload.release()
    await killed(REMOVER, dsn, folder_url, artifact.hash, moment)
    assert folder_store.exists("acme", artifact) == (moment == "before")
    assert await lease(database, artifact) == [artifact.hash]
    assert await remove_unused(database, folder_store) == Removed()
    await clock.advance(minutes=11)
    (document,) = await documents(database)
    async with database.transaction() as connection:
        await upload.use(connection, document, {"text": await upload.put_bytes(b"content")})
    assert await remove_unused(database, folder_store) == Removed()
    assert folder_store.read("acme", artifact) == b"content"


async def test_what_a_killed_remover_left_is_removed_by_the_next(
    dsn: str, database: Database, clock: Clock, folder_store: ArtifactStore, folder_url: str
) -> None:
    upload = Upload(database, folder_store, "acme")
    artifact = await upload.put_bytes(b"content")
    await upload.release()
    await killed(REMOVER, dsn, folder_url, artifact.hash, "before")
    await clock.advance(minutes=11)
    assert await remove_unused(database, folder_store) == Removed(1, 7)
    assert (await recorded(database), list(folder_store.list("acme"))) == ([], [])


async def test_a_put_waits_for_the_removal_under_way(database: Database, store: ArtifactStore) -> None:
    artifact = store.put_bytes("acme", b"content")
    await lease(database, artifact)
    await database.execute("delete from holdfast.artifact_lease")
    until = (await begin_removal(database, artifact))[artifact.hash]
    putting = asyncio.create_task(Upload(database, store, "acme").put_bytes(b"content"))
    store.remove("acme", artifact.hash)
    await until_leased_or_refused(database, putting)
    assert not store.exists("acme", artifact)
    await finish_removal(database, artifact, until)
    assert await putting == artifact
    assert store.exists("acme", artifact)


async def until_leased_or_refused(database: Database, putting: "asyncio.Task[Artifact]") -> None:
    """Come back when the put has surely asked, and asks again."""
    for _ in range(3):
        done, _ = await asyncio.wait({putting}, timeout=0.1)
        assert not done


async def test_a_removal_that_never_ends_is_told(
    database: Database, folder_store: ArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.artifacts.upload.WAITING_SECONDS", 0.0)
    artifact = folder_store.put_bytes("acme", b"content")
    await lease(database, artifact)
    await database.execute("delete from holdfast.artifact_lease")
    await begin_removal(database, artifact)
    with pytest.raises(StorageUnavailable, match="is being removed") as raised:
        await Upload(database, folder_store, "acme").put_bytes(b"content")
    assert raised.value.error_code == "ARTIFACT_BEING_REMOVED"


async def test_a_remover_that_was_stopped_for_too_long_removes_nothing_more(
    database: Database, folder_store: ArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = Upload(database, folder_store, "acme")
    artifacts = [await upload.put_bytes(b"%d" % n) for n in range(3)]
    await upload.release()
    monkeypatch.setattr("holdfast.artifacts.removal.REMOVING_SECONDS", -1.0)
    removed = await remove_artifacts(database, folder_store, "acme", [one.hash for one in artifacts])
    assert removed == Removed(0, 0, waiting=3)
    assert all(folder_store.exists("acme", one) for one in artifacts)


async def test_a_remover_that_comes_too_late_forgets_nothing(database: Database, clock: Clock) -> None:
    await lease(database, ONE)
    await database.execute("delete from holdfast.artifact_lease")
    until = (await begin_removal(database, ONE))[ONE.hash]
    await clock.advance(minutes=11)
    assert await lease(database, ONE) == []
    await finish_removal(database, ONE, until)
    (document,) = await documents(database)
    await use_leased(database, document, text=ONE)
    assert await recorded(database) == [("acme", ONE.hash, ONE.size)]


async def test_many_are_leased_in_one_round_trip(database: Database, folder_store: ArtifactStore) -> None:
    asked = []

    async def counting(call: Callable[[], Awaitable[list[str]]]) -> list[str]:
        asked.append(call)
        return await call()

    async with Upload(database, folder_store, "acme", patience=counting) as upload:
        spools = [upload.spool([b"%d" % n], most_bytes=10) for n in range(100)]
        await upload.keep(*spools)
    assert len(asked) == 1
    assert len(list(folder_store.list("acme"))) == 100


async def test_an_upload_that_fails_leaves_no_lease_and_no_spool(
    database: Database, folder_store: ArtifactStore, folder_url: str
) -> None:
    async def fail() -> None:
        async with Upload(database, folder_store, "acme") as upload:
            await upload.put_bytes(b"one")
            upload.spool([b"two"], most_bytes=10)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    assert await database.fetchval("select count(*) from holdfast.artifact_lease") == 0
    assert os.listdir(f"{folder_url.removeprefix('file://')}/.spool") == []
    assert await remove_unused(database, folder_store) == Removed(1, 3)


@pytest.fixture
async def many(dsn: str) -> AsyncIterator[Database]:
    async with connect(Settings(database_url=dsn, pool_size=8)) as database:
        yield database


async def test_puts_uses_and_removals_at_the_same_time_never_lose_what_is_used(
    dsn: str, many: Database, folder_store: ArtifactStore, folder_url: str
) -> None:
    """In this process and in another one, which is killed in the middle."""
    made = await documents(many, 8)
    program = [sys.executable, "-c", WORKER, dsn, folder_url, *map(str, made[4:])]
    other = await asyncio.create_subprocess_exec(*program)
    try:
        removed: list[int] = []
        cleaning = asyncio.create_task(clean(many, folder_store, removed.append))
        lost = await asyncio.gather(*(work(many, folder_store, document) for document in made[:4]))
        assert other.returncode is None
    finally:
        other.kill()
        await other.wait()
        cleaning.cancel()
        await asyncio.wait({cleaning})
    assert sum(lost) == 0
    assert removed
    rows = await many.fetch(USED)
    assert [row["hash"] for row in rows if not folder_store.exists("acme", Artifact(*row))] == []
    assert {one.hash for one in folder_store.list("acme")} <= {row[1] for row in await recorded(many)}


async def work(database: Database, store: ArtifactStore, document: int, *, rounds: int = 40) -> int:
    """Put, use, read and let go; says how often what was used could not be read."""
    chance, lost = random.Random(document), 0
    for _ in range(rounds):
        upload = Upload(database, store, "acme")
        artifact = await upload.put_bytes(b"%d" % chance.randrange(CONTENTS))
        await asyncio.sleep(chance.random() * 0.02)
        async with database.transaction() as connection:
            await upload.use(connection, document, {"text": artifact})
        lost += not await asyncio.to_thread(store.exists, "acme", artifact)
        if chance.random() < 0.8:
            await database.execute("delete from holdfast.artifact_use where document_id = $1", document)
    return lost


async def clean(database: Database, store: ArtifactStore, on_removed: Callable[[int], None]) -> None:
    while True:
        if count := (await remove_unused(database, store)).count:
            on_removed(count)


@pytest.mark.parametrize(
    "call",
    [
        "select holdfast.release_artifacts('acme', array[$1], 'tester')",
        "select holdfast.begin_removal('acme', array[$1])",
        "select holdfast.finish_removal('acme', array[$1], holdfast.clock())",
    ],
)
async def test_another_organisations_artifacts_stay_as_they_are(database: Database, call: str) -> None:
    await lease(database, ONE)
    if "begin" in call:
        await database.execute("delete from holdfast.artifact_lease")
    state = "select a::text, l::text from holdfast.artifact a left join holdfast.artifact_lease l using (hash)"
    before = await database.fetch(state)
    await database.confined_to("other").execute(call, ONE.hash)
    with pytest.raises(NotFound):
        await lease(database.confined_to("other"), ONE)
    assert await database.fetch(state) == before
