"""What a refused call must leave as it was, and a value too deep to keep."""

from typing import Any

from holdfast.db.connection import Database

RECORDED = """
select (select count(*) from holdfast.document) as documents, (select count(*) from holdfast.pipeline_job) as jobs,
       (select count(*) from holdfast.pipeline_phase) as attempts, (select count(*) from holdfast.hold) as holds,
       (select count(*) from holdfast.audit_log) as acts, (select sum(spent_usd) from holdfast.budget_day) as spent
"""


async def recorded(database: Database) -> dict[str, Any]:
    row = await database.fetchrow(RECORDED)
    assert row is not None
    return dict(row)


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"deeper": value}
    return value
