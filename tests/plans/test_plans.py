"""Nothing on the hot path, and no question, becomes dearer with what is stored: guards at a million finished jobs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from tests.million import FILLED_TABLES, write_history
from tests.plans.cost import cost_of, keep_from_the_planner, warm_up
from tests.plans.statements import QUESTIONS, VERBS, Statement

# Whoever comes first writes the million.
pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]

WITHOUT_PREPARATION = [statement for statement in (*VERBS, *QUESTIONS) if not statement.first]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
async def test_verb_costs_no_more_for_what_is_stored(million: str, verb: Statement) -> None:
    try:
        await _assert_cheap(million, verb)
    finally:
        await _vacuum(million)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
async def test_question_costs_no_more_for_what_is_stored(million: str, question: Statement) -> None:
    await _assert_cheap(million, question)


async def test_guard_sees_a_sequential_scan(million: str) -> None:
    async with _connected(million) as connection:
        cost = await cost_of(connection, "select count(output) from holdfast.pipeline_phase")
    assert cost.scanned == {"pipeline_phase"}


async def test_guard_sees_an_index_read_from_end_to_end(million: str) -> None:
    async with _connected(million) as connection:
        cost = await cost_of(connection, "select worker_id from holdfast.pipeline_phase order by ended_at")
    assert cost.share > 0.5


async def test_plans_made_while_hardly_anything_was_stored_stay_good(dsn: str) -> None:
    async with _connected(dsn) as early, _connected(dsn) as writer:
        # Statistics of ten rows would recommend a scan, and later ones would make the early session plan anew.
        await keep_from_the_planner(writer, FILLED_TABLES)
        await write_history(writer, finished_jobs=10)
        await writer.execute("select holdfast.register_worker('planner', 'test', 1)")
        for statement in WITHOUT_PREPARATION:
            await warm_up(early, statement.sql)
        await write_history(writer, finished_jobs=30_000, queued_jobs=100)
        costs = {statement.name: await cost_of(early, statement.sql) for statement in WITHOUT_PREPARATION}
    assert {name: cost.scanned for name, cost in costs.items() if cost.scanned} == {}


async def _assert_cheap(dsn: str, statement: Statement) -> None:
    async with _connected(dsn) as connection:
        await warm_up(connection, statement.sql, first=statement.first)
        cost = await cost_of(connection, statement.sql, first=statement.first)
    assert cost.scanned == frozenset()
    assert cost.share < statement.share


async def _vacuum(dsn: str) -> None:
    """What was rolled back still lies in the tables, and the next test would count it."""
    async with _connected(dsn) as connection:
        for table in FILLED_TABLES:
            await connection.execute(f"vacuum holdfast.{table}")


@asynccontextmanager
async def _connected(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()
