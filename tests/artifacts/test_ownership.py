"""Every object has an owner and every lease an end, or they are named."""

import pytest

from holdfast.artifacts.address import key_of
from holdfast.artifacts.ownership import ownership_findings
from holdfast.artifacts.retention import remove_unused
from holdfast.artifacts.store import ArtifactStore
from holdfast.artifacts.upload import Upload
from holdfast.db.connection import Database
from tests.artifacts.test_uses import documents, use
from tests.conftest import Clock
from tests.engine.test_roles import acting_as


async def test_nothing_is_named_while_all_have_owners(database: Database, clock: Clock, store: ArtifactStore) -> None:
    (document,) = await documents(database)
    await use(database, document, text=store.put_bytes("acme", b"used"))
    await Upload(database, store, "newcomer").put_bytes(b"on its way")
    await clock.advance(hours=23)
    assert await ownership_findings(database, store) == []


async def test_a_lease_older_than_a_day_is_named_until_it_is_cleaned(
    database: Database, clock: Clock, store: ArtifactStore
) -> None:
    artifact = await Upload(database, store, "acme").put_bytes(b"forgotten")
    await clock.advance(hours=25)
    (finding,) = await ownership_findings(database, store)
    assert (finding.check, finding.count, finding.ids) == ("leases", 1, (artifact.hash,))
    await remove_unused(database, store)
    assert await ownership_findings(database, store) == []


@pytest.mark.parametrize("organisation", ["acme", "another database's"])
async def test_an_object_without_owner_is_named(database: Database, store: ArtifactStore, organisation: str) -> None:
    (document,) = await documents(database)
    await use(database, document, text=store.put_bytes("acme", b"used"))
    artifact = store.put_bytes(organisation, b"by hand")
    (finding,) = await ownership_findings(database, store)
    assert (finding.check, finding.count, finding.ids) == ("owners", 1, (key_of(organisation, artifact.hash),))


@pytest.mark.parametrize("role", ["holdfast_api", "holdfast_readonly"])
async def test_who_may_look_may_look_at_leases(database: Database, role: str) -> None:
    async with acting_as(role, database) as connection:
        assert await connection.fetch("select * from holdfast.artifact_lease") == []
