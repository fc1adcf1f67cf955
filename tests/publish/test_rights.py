"""The roles do with artifacts and publishing what they are for."""

import pytest

from holdfast.db.connection import Database
from holdfast.errors import DatabaseUnusable
from tests.artifacts.test_uses import ONE, begin_removal, finish_removal, use
from tests.engine.test_roles import acting_as
from tests.publish.library import Library


async def test_worker_records_publishes_replaces_and_forgets(library: Library) -> None:
    old = await library.add("apples", "a.txt")
    await library.take_in("apples", "b.txt")
    new = await library.take_in("pears", "a.txt")
    async with acting_as("holdfast_worker", library.database) as connection:
        await use(connection, old, text=ONE)
        await connection.execute("select holdfast.publish_document($1)", new)
        await connection.fetch("select * from holdfast.unused_artifacts('', '', 10)")
        await connection.execute("select holdfast.record_orphans('acme', '[]')")
        await connection.execute("select holdfast.end_dead_leases(10)")
        await begin_removal(connection, ONE)
        await finish_removal(connection, ONE, None)
    assert await library.answers() == [("apples", "b.txt"), ("pears", "a.txt")]


async def test_api_deletes_purges_and_checks(library: Library) -> None:
    document = await library.add("apples", "a.txt")
    async with acting_as("holdfast_api", library.database) as connection:
        await use(connection, document, text=ONE)
        assert len(await connection.fetch("select * from holdfast.needed_artifacts(0, '', 10)")) == 1
        removed = await connection.fetchval("select holdfast.delete_document($1, 'ann')", document)
        await connection.execute("select holdfast.purge_superseded(holdfast.clock(), 10)")
    assert removed["unused"] == [ONE.hash]


@pytest.mark.parametrize("role", ["holdfast_worker", "holdfast_readonly"])
@pytest.mark.parametrize(
    "call",
    [
        "delete_document(1, 'ann')",
        "remove_derived(1)",
        "replace_older('acme', 'folder', 'a')",
    ],
)
async def test_others_remove_nothing(database: Database, role: str, call: str) -> None:
    with pytest.raises(DatabaseUnusable, match="permission denied"):
        async with acting_as(role, database) as connection:
            await connection.execute(f"select holdfast.{call}")
