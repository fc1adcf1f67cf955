"""Ending one of many members costs the same however many there are, and whichever of them have ended."""

import json
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from holdfast.db.connection import Connection, Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import GiveBack
from tests.engine.scenario import Scenario, begin, plain
from tests.plans.cost import ROWS_READ

pytestmark = pytest.mark.thorough

FEW, MANY = 20, 400
# A member's own rows and its parent's.
ROWS_PER_ENDING = 40

Ending = Callable[[Connection, Attempt], Awaitable[object]]


async def settle(connection: Connection, member: Attempt) -> None:
    items = json.dumps([{"job_id": member.job_id, "token": member.token}])
    await connection.fetch("select * from holdfast.settle($1::text::jsonb)", items)
    await connection.fetch("select holdfast.publish_document($1)", member.document.id)


async def fail(connection: Connection, member: Attempt) -> None:
    items = json.dumps([{"job_id": member.job_id, "token": member.token, "category": "corrupt_input", "error": "no"}])
    await connection.fetch("select * from holdfast.fail($1::text::jsonb)", items)


async def cancel(connection: Connection, member: Attempt) -> None:
    await connection.fetch("select * from holdfast.cancel(array[$1::bigint])", member.job_id)


ENDINGS: dict[str, Ending] = {"settle": settle, "fail": fail, "cancel": cancel}


@pytest.mark.parametrize("ended", ["none", "all but the oldest", "all but the newest"])
@pytest.mark.parametrize("verb", ENDINGS)
async def test_ending_a_member_reads_nothing_of_the_others(database: Database, verb: str, ended: str) -> None:
    scenario = await begin(database, plain("publish"))
    rows = [await rows_of_one_ending(scenario, count, ended, ENDINGS[verb]) for count in (FEW, MANY)]
    # A small table, as that of the policies' rules, may be read whole or by its index, by when it was analysed last.
    assert rows[1] <= rows[0] + FEW


async def test_cancelling_all_members_reads_a_few_rows_for_each(database: Database) -> None:
    scenario = await begin(database, plain("publish"))
    members = await waited_for(scenario, MANY)
    async with database.transaction() as connection:
        jobs = [member.job_id for member in members]
        rows = await rows_read(connection, connection.fetch("select * from holdfast.cancel($1::bigint[])", jobs))
    assert rows <= MANY * ROWS_PER_ENDING
    assert await scenario.states() == {"cancelled": MANY, "queued": 1}


async def waited_for(scenario: Scenario, count: int) -> list[Attempt]:
    """Members at work, in the order of their ids, and a document that waits for them."""
    parent = await scenario.submit_one()
    waiting = await scenario.claim_one("publish")
    await scenario.submit(count, parent_id=parent.document_id)
    members = await scenario.claim("publish", count)
    await scenario.queue.give_back([(waiting, GiveBack("its members", wait_seconds=3600, for_members=True))])
    return sorted(members, key=lambda member: member.job_id)


async def rows_of_one_ending(scenario: Scenario, count: int, ended: str, end: Ending) -> int:
    """Two are left of those that have not ended: the first of them ends, and the parent goes on waiting."""
    members = await waited_for(scenario, count)
    if ended == "all but the oldest":
        left, over = members[:2], members[2:]
    elif ended == "all but the newest":
        left, over = members[-2:], members[:-2]
    else:
        left, over = members[:2], []
    await scenario.settle(over)
    async with scenario.database.transaction() as connection:
        rows = await rows_read(connection, end(connection, left[0]))
    await scenario.settle(left[1:])
    return rows


async def rows_read(connection: "Connection | asyncpg.Connection", ending: Awaitable[object]) -> int:
    before = await connection.fetchval(ROWS_READ)
    await ending
    return int(await connection.fetchval(ROWS_READ) - before)
