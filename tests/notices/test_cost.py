"""What delivering and looking cost does not grow with what was told before, nor with what waits."""

import json

import pytest

from holdfast.db.connection import Database
from tests.notices.hook import Hook
from tests.notices.telling import Telling

STORED = """
with told as (
    insert into holdfast.notice (at, event, body)
    select now(), 'job.done', '{}' from generate_series(1, 20000)
    returning id
)
insert into holdfast.delivery (notice_id, receiver_id, state, next_at)
select id, 1, case when id % 2 = 0 then 'waiting' else 'delivered' end,
       case when id % 2 = 0 then now() + interval '1 hour' end
from told
"""


async def pages(database: Database, statement: str) -> int:
    """How many pages the statement touches at least; what it writes is taken back.

    Of several times: the first one plans, and whenever statistics are gathered the next one plans again.
    """
    touched = []
    async with database.transaction() as connection:
        for _ in range(7):
            undone = connection.transaction()
            await undone.start()
            plan = await connection.fetchval(f"explain (analyze, buffers, format json) {statement}")
            await undone.rollback()
            top = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
            touched.append(int(top["Shared Hit Blocks"] + top["Shared Read Blocks"]))
    return min(touched)


@pytest.mark.parametrize(
    "statement",
    [
        "select * from holdfast.take_deliveries('{webhook}', '{}', 16)",
        "select * from holdfast.deliveries(1, null, 50)",
        "select * from holdfast.deliveries(null, null, 50)",
        "select * from holdfast.deliveries(null, 'given_up', 50)",
        "select holdfast.end_delivery(1, 0, 'delivered', 200, null, null)",
    ],
)
async def test_costs_the_same_among_thousands(telling: Telling, hook: Hook, database: Database, statement: str) -> None:
    await telling.add(hook)
    await telling.happen(60)
    few = await pages(database, statement)
    await database.execute(STORED)
    await database.execute("analyze holdfast.notice, holdfast.delivery")
    assert await pages(database, statement) < few + 120
