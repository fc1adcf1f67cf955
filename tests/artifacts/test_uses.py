"""Recording which document needs which artifact."""

import asyncio
import json
from datetime import datetime
from typing import Any

import pytest

from holdfast.artifacts.artifact import Artifact
from holdfast.db.connection import Database, connect
from holdfast.errors import Conflict, InvalidInput, NotFound, StorageUnavailable
from holdfast.settings import Settings
from tests.conftest import Clock
from tests.engine.scenario import begin, plain

ONE, OTHER = Artifact("1" * 64, 10), Artifact("2" * 64, 20)


async def documents(database: Database, count: int = 1, *, organisation: str = "acme") -> list[int]:
    scenario = await begin(database, plain("extract"))
    return [made.document_id for made in await scenario.submit(count, organisation=organisation)]


def items(**kinds: Artifact) -> str:
    return json.dumps([{"kind": kind, **artifact.to_json()} for kind, artifact in kinds.items()])


async def lease(database: Any, *artifacts: Artifact, holder: str = "tester", organisation: str = "acme") -> list[str]:
    """Those that are being removed."""
    given = json.dumps([artifact.to_json() for artifact in artifacts])
    refused: list[str] = await database.fetchval(
        "select holdfast.lease_artifacts($1, $2::text::jsonb, $3)", organisation, given, holder
    )
    return refused


async def use_leased(database: Any, document: int, *, holder: str | None = "tester", **kinds: Artifact) -> None:
    await database.execute("select holdfast.use_artifacts($1, $2::text::jsonb, $3)", document, items(**kinds), holder)


async def use(database: Any, document: int, **kinds: Artifact) -> None:
    """As if they had been put."""
    organisation = await database.fetchval("select organisation from holdfast.document where id = $1", document)
    await lease(database, *kinds.values(), organisation=organisation or "acme")
    await use_leased(database, document, **kinds)


async def uses(database: Database) -> set[tuple[int, str, str]]:
    return {tuple(row) for row in await database.fetch("select document_id, kind, hash from holdfast.artifact_use")}


async def recorded(database: Database) -> list[tuple[str, str, int]]:
    rows = await database.fetch("select organisation, hash, size from holdfast.artifact order by 1, 2")
    return [tuple(row) for row in rows]


async def begin_removal(database: Any, *artifacts: Artifact) -> dict[str, datetime | None]:
    """Until when each may be removed; None: it stays."""
    hashes = [artifact.hash for artifact in artifacts]
    rows = await database.fetch("select hash, until from holdfast.begin_removal('acme', $1)", hashes)
    return {row["hash"]: row["until"] for row in rows}


async def finish_removal(database: Any, artifact: Artifact, until: datetime | None) -> None:
    await database.execute("select holdfast.finish_removal('acme', $1, $2)", [artifact.hash], until)


async def forget(database: Database, *artifacts: Artifact) -> list[str]:
    """Remove those that nobody uses or leases, as far as the database is concerned."""
    begun = {
        content_hash: until for content_hash, until in (await begin_removal(database, *artifacts)).items() if until
    }
    for content_hash, until in begun.items():
        await finish_removal(database, Artifact(content_hash, 0), until)
    return list(begun)


async def test_a_use_is_recorded_for_the_documents_own_organisation(database: Database) -> None:
    (document,) = await documents(database, organisation="other")
    await use(database, document, original=ONE, text=OTHER)
    assert await uses(database) == {(document, "original", ONE.hash), (document, "text", OTHER.hash)}
    assert await recorded(database) == [("other", ONE.hash, 10), ("other", OTHER.hash, 20)]


async def test_recording_again_changes_nothing(database: Database) -> None:
    (document,) = await documents(database)
    for _ in range(2):
        await use(database, document, original=ONE, text=ONE)
    assert await uses(database) == {(document, "original", ONE.hash), (document, "text", ONE.hash)}
    assert await recorded(database) == [("acme", ONE.hash, 10)]


async def test_another_artifact_of_the_same_kind_takes_the_place_of_the_first(database: Database) -> None:
    (document,) = await documents(database)
    await use(database, document, text=ONE)
    await use(database, document, text=OTHER)
    assert await uses(database) == {(document, "text", OTHER.hash)}
    assert await forget(database, ONE, OTHER) == [ONE.hash]


async def test_the_same_content_cannot_have_another_size(database: Database) -> None:
    (document,) = await documents(database)
    await use(database, document, text=ONE)
    with pytest.raises(Conflict, match="has 10 bytes, not 11"):
        await use(database, document, spans=Artifact(ONE.hash, 11))


async def test_a_document_that_is_not_there_uses_nothing(database: Database) -> None:
    with pytest.raises(NotFound, match="no document 4711"):
        await use(database, 4711, text=ONE)


@pytest.mark.parametrize(
    "value",
    [
        "null",
        "{}",
        "[{}]",
        '[{"kind": "text", "hash": "x", "size": 1}]',
        f'[{{"kind": "text", "hash": "{ONE.hash}"}}]',
        f'[{{"kind": "text", "hash": "{ONE.hash}", "size": -1}}]',
        f'[{{"hash": "{ONE.hash}", "size": 1}}]',
        f'[{{"kind": "a", "hash": "{ONE.hash}", "size": 1}}, {{"kind": "a", "hash": "{OTHER.hash}", "size": 1}}]',
    ],
)
async def test_malformed_items_are_refused(database: Database, value: str) -> None:
    (document,) = await documents(database)
    with pytest.raises(InvalidInput):
        await database.execute("select holdfast.use_artifacts($1, $2::text::jsonb)", document, value)


async def test_what_a_document_uses_is_not_forgotten(database: Database) -> None:
    one, other = await documents(database, 2)
    await use(database, one, text=ONE)
    await use(database, other, text=ONE)
    await database.execute("delete from holdfast.artifact_use where document_id = $1", one)
    assert await forget(database, ONE) == []
    await database.execute("delete from holdfast.artifact_use where document_id = $1", other)
    assert await forget(database, ONE) == [ONE.hash]


async def test_a_use_under_way_keeps_the_artifact(database: Database) -> None:
    (document,) = await documents(database)
    await lease(database, ONE)
    async with database.transaction() as connection:
        await use_leased(connection, document, text=ONE)
        assert await begin_removal(database, ONE) == {ONE.hash: None}
    assert await begin_removal(database, ONE) == {}


async def test_only_what_is_leased_or_in_use_can_be_used(database: Database) -> None:
    one, other = await documents(database, 2)
    for holder in ("somebody else", None):
        await lease(database, ONE)
        with pytest.raises(StorageUnavailable, match=f"artifact {ONE.hash} is not leased any more.*put it again"):
            await use_leased(database, one, holder=holder, text=ONE)
    assert await uses(database) == set()
    await use_leased(database, one, text=ONE)
    await use_leased(database, other, holder=None, text=ONE)
    assert await uses(database) == {(one, "text", ONE.hash), (other, "text", ONE.hash)}


async def test_a_use_ends_the_leases_of_its_holder_alone(database: Database) -> None:
    (document,) = await documents(database)
    await lease(database, ONE, OTHER)
    await lease(database, ONE, holder="somebody else")
    await use_leased(database, document, text=ONE)
    rows = await database.fetch("select hash, holder from holdfast.artifact_lease")
    assert {tuple(row) for row in rows} == {(OTHER.hash, "tester"), (ONE.hash, "somebody else")}


async def test_a_use_after_a_removal_has_begun_is_refused_however_that_ends(database: Database, clock: Clock) -> None:
    (document,) = await documents(database)
    await lease(database, ONE)
    await clock.advance(hours=25)
    assert (await begin_removal(database, ONE))[ONE.hash] is not None
    await clock.advance(hours=1)
    with pytest.raises(StorageUnavailable, match="put it again"):
        await use_leased(database, document, text=ONE)


async def test_uses_and_forgetting_at_the_same_time_leave_no_use_without_its_artifact(dsn: str) -> None:
    async with connect(Settings(database_url=dsn, pool_size=8)) as database:
        made = await documents(database, 40)

        async def come_and_go(document: int) -> None:
            await use(database, document, text=ONE, spans=OTHER)
            await database.execute(
                "delete from holdfast.artifact_use where document_id = $1 and kind = 'text'", document
            )
            await forget(database, ONE, OTHER)

        await asyncio.gather(*map(come_and_go, made))
        assert await recorded(database) == [("acme", OTHER.hash, 20)]
        assert len(await uses(database)) == 40
