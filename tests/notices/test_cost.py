"""What delivering and looking cost does not grow with what was told before, nor with what waits."""

import pytest

from holdfast.db.connection import Database
from tests.notices.hook import Hook
from tests.notices.telling import Telling
from tests.plans.cost import rows_read

MOST_ROWS = 250  # a page of fifty with what belongs to it; a scan reads thousands
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
    await database.execute(STORED)
    await database.execute("analyze holdfast.notice, holdfast.delivery")
    async with database.transaction() as connection:
        assert await rows_read(connection, statement) < MOST_ROWS
        assert await rows_read(connection, "select count(body) from holdfast.notice") > MOST_ROWS
