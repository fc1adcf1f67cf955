"""Versions that were replaced long ago are purged, and nothing else."""

from datetime import timedelta

from holdfast.artifacts.store import ArtifactStore
from holdfast.publish.removal import Receipt, purge_superseded
from tests.conftest import Clock
from tests.publish.library import CHUNK, Library, keep


async def test_replaced_versions_are_purged_when_they_are_old(
    library: Library, store: ArtifactStore, clock: Clock
) -> None:
    old = await library.add("apples", "a.txt")
    await keep(library, store, old, original=b"apples")
    await library.database.execute(CHUNK, old, 7)
    new = await library.add("pears", "a.txt")
    await keep(library, store, new, original=b"pears")
    await library.database.execute(CHUNK, new, 5)
    assert await purge_superseded(library.database, older_than=timedelta(days=30)) == Receipt()
    await clock.advance(days=31)
    assert await purge_superseded(library.database, older_than=timedelta(days=30)) == Receipt(documents=1, chunks=7)
    assert await purge_superseded(library.database, older_than=timedelta(days=30)) == Receipt()
    assert await library.database.fetchval("select count(*) from holdfast.chunk") == 5
    assert await library.database.fetchval("select array_agg(document_id) from holdfast.artifact_use") == [new]


async def test_a_replaced_version_that_is_still_worked_on_is_not_purged(library: Library, clock: Clock) -> None:
    old = await library.take_in("apples", "a.txt")
    await library.database.execute(CHUNK, old, 7)
    await library.add("pears", "a.txt")
    await clock.advance(days=31)
    assert await purge_superseded(library.database, older_than=timedelta(days=30)) == Receipt()
    await library.finish(old)
    assert (await purge_superseded(library.database, older_than=timedelta(days=30))).chunks == 7


async def test_one_organisation_is_purged_at_a_time(library: Library) -> None:
    newer = await library.add("pears")
    await library.database.execute(
        """
        insert into holdfast.document (organisation, source_name, created_at, superseded_by, superseded_at)
        select organisation, 'old', holdfast.clock(), $1, holdfast.clock() - interval '1 day' + n * interval '1 second'
        from unnest('{acme,acme,other}'::text[]) with ordinality as o(organisation, n)
        """,
        newer,
    )
    purge = "select (holdfast.purge_superseded(holdfast.clock(), 100) ->> 'documents')::integer"
    assert [await library.database.fetchval(purge) for _ in range(3)] == [2, 1, 0]
