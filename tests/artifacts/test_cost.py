"""What leasing, using and removing an artifact costs does not grow with how many there are."""

import asyncpg
import pytest

from holdfast.db.connection import Database
from tests.artifacts.test_uses import ONE, OTHER, documents, lease
from tests.artifacts.test_uses import use as use_one
from tests.plans.cost import rows_read

THOUSANDS = """
with made as (
    insert into holdfast.artifact (organisation, hash, size, stored_at)
    select 'acme', md5(n::text) || md5((-n)::text), 1, holdfast.clock() from generate_series(1, 5000) as n
    returning organisation, hash
)
insert into holdfast.artifact_lease (organisation, hash, holder, leased_at)
select organisation, hash, 'tester', holdfast.clock() from made
"""
ITEMS = f'[{{"kind": "text", "hash": "{ONE.hash}", "size": {ONE.size}}}]'


@pytest.mark.parametrize("measured", [True, False], ids=["with statistics", "without statistics"])
async def test_one_among_thousands_costs_what_one_alone_does(database: Database, dsn: str, *, measured: bool) -> None:
    document, other = await documents(database, 2)
    await use_one(database, other, text=OTHER)
    await database.execute("delete from holdfast.artifact_use")
    await lease(database, ONE)
    calls = (
        f"select holdfast.lease_artifacts('acme', '{ITEMS}', 'tester')",
        f"select holdfast.use_artifacts({document}, '{ITEMS}', 'tester')",
        f"select * from holdfast.begin_removal('acme', array['{ONE.hash}', '{OTHER.hash}'])",
    )
    few = await costs(dsn, calls)
    connection = await asyncpg.connect(dsn)
    try:
        # Planned while there was little, as a session that goes on for weeks has it.
        for call in calls * 6:
            await rows_read(connection, call)
        await database.execute(THOUSANDS)
        if measured:
            await database.execute("analyze")
        many = [await rows_read(connection, call) for call in calls]
    finally:
        await connection.close()
    assert [after < before + 60 for before, after in zip(few, many, strict=True)] == [True] * 3, (few, many)


async def costs(dsn: str, calls: tuple[str, ...]) -> list[int]:
    connection = await asyncpg.connect(dsn)
    try:
        return [await rows_read(connection, call) for call in calls]
    finally:
        await connection.close()
