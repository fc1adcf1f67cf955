"""Adding to the graph and taking away from it: once for all, merged by name, each organisation's apart, never stuck."""

import asyncio
import random

import asyncpg
import pytest

from holdfast.db.connection import Database
from holdfast.engine.pipeline import GiveBack
from holdfast.errors import Conflict, DatabaseUnusable
from tests.engine.scenario import many_connections, until_someone_waits_for_a_lock
from tests.graph.graph import ADD, Graph, chunk, items, thing

BEGIN = "select holdfast.begin_graph($1, $2, $3)"


async def test_adding_twice_is_adding_once(graph: Graph) -> None:
    attempt = await graph.claim()
    chunks = [chunk(0, "Kelp Point", thing("tidal gate", "phrase", 3)), chunk(1, "Kelp Point", "Gull Island")]
    await graph.add(attempt, *chunks)
    once = await graph.everything()
    await graph.add(attempt, *chunks)
    assert await graph.everything() == once
    assert (len(once["mentions"]), len(once["relations"])) == (4, 2)


async def test_what_a_chunk_says_anew_replaces_what_it_said(graph: Graph) -> None:
    attempt = await graph.claim()
    await graph.add(attempt, chunk(0, thing("Kelp Point", count=2), "Gull Island"))
    await graph.add(attempt, chunk(0, thing("Kelp Point", count=5), "Gull Island"))
    counts = {row[2]: row[5] for row in (await graph.everything())["mentions"]}
    assert counts == {"kelp point": 5, "gull island": 1}


async def test_spellings_and_documents_share_an_entity_that_keeps_its_first_name(graph: Graph) -> None:
    await graph.document(chunk(0, thing("ACME Corp.", "organisation"), thing("Acme Corp", "organisation")))
    await graph.document(chunk(0, thing("acme corp", "organisation")))
    assert await graph.names() == ["organisation ACME Corp."]
    assert [row[5] for row in (await graph.everything())["mentions"]] == [2, 1]


async def test_one_name_of_two_kinds_is_two(graph: Graph) -> None:
    await graph.document(chunk(0, thing("Mercury", "planet"), thing("Mercury", "metal")))
    assert await graph.names() == ["metal Mercury", "planet Mercury"]


async def test_organisations_share_nothing(graph: Graph) -> None:
    mine = await graph.document(chunk(0, "Kelp Point", "Gull Island"))
    theirs = await graph.document(chunk(0, "Kelp Point"), organisation="globex")
    assert await graph.database.fetchval("select count(*) from holdfast.entity where name = 'Kelp Point'") == 2
    await graph.remove(theirs)
    assert await graph.names("globex") == []
    assert await graph.names("acme") == ["name Gull Island", "name Kelp Point"]
    assert {row[0] for row in (await graph.everything())["relations"]} == {mine}


async def test_removal_takes_a_documents_share_and_leaves_what_others_mention(graph: Graph) -> None:
    first = await graph.document(chunk(0, "Kelp Point", "Gull Island"), chunk(1, "Kelp Point"))
    before = await graph.everything()
    second = await graph.document(chunk(0, "Kelp Point", "Otto Klein"), chunk(7, "Otto Klein"))
    assert await graph.remove(second) == {"mentions": 3, "relations": 1, "entities": 1}
    assert await graph.everything() == before
    assert await graph.remove(second) == {"mentions": 0, "relations": 0, "entities": 0}
    assert await graph.remove(first) == {"mentions": 3, "relations": 1, "entities": 2}
    assert await graph.everything() == {"mentions": [], "relations": []}


async def test_a_lost_claim_adds_nothing_and_takes_nothing_back(graph: Graph) -> None:
    attempt = await graph.claim()
    await graph.add(attempt, chunk(0, "Kelp Point"))
    before = await graph.everything()
    await graph.scenario.queue.give_back([(attempt, GiveBack("as a sweep would"))])
    with pytest.raises(Conflict, match=f"the claim on job {attempt.job_id} was lost"):
        await graph.add(attempt, chunk(1, "Gull Island"))
    with pytest.raises(Conflict):
        await graph.database.fetchval(BEGIN, attempt.job_id, attempt.token, 10)
    await graph.scenario.claim_one("graph_add")
    with pytest.raises(Conflict):
        await graph.add(attempt, chunk(1, "Gull Island"))
    assert await graph.everything() == before


async def test_a_new_run_begins_with_nothing_of_the_old_one(graph: Graph) -> None:
    other = await graph.document(chunk(0, "Kelp Point"))
    attempt = await graph.claim()
    await graph.add(attempt, *(chunk(ordinal, "Kelp Point", f"Boat {ordinal}") for ordinal in range(5)))
    rounds = 0
    while await graph.database.fetchval(BEGIN, attempt.job_id, attempt.token, 2):
        rounds += 1
    assert rounds == 3
    assert {row[3] for row in (await graph.everything())["mentions"]} == {other}
    assert await graph.names() == ["name Kelp Point"]


async def test_a_batch_that_cannot_be_added_adds_nothing(graph: Graph) -> None:
    attempt = await graph.claim()
    broken = chunk(1, thing("x" * 10, "k" * 64))
    with pytest.raises(asyncpg.CheckViolationError, match="entity_kind_check"):
        await graph.add(attempt, chunk(0, "Kelp Point"), broken)
    assert await graph.names() == []


async def test_many_documents_with_the_same_entities_are_added_and_removed_at_once(dsn: str) -> None:
    rng = random.Random(4)
    names = [f"Boat {n}" for n in range(40)]

    async with many_connections(dsn, 10) as database:
        graph = await Graph.begin(database)
        attempts = [await graph.claim() for _ in range(12)]

        async def add(number: int) -> None:
            for batch in range(4):
                some = [chunk(batch * 10 + n, *rng.sample(names, 6)) for n in range(10)]
                await graph.add(attempts[number], *(some if number % 2 else reversed(some)))

        async def add_and_remove(number: int) -> None:
            await add(number)
            await graph.remove(attempts[number].document.id)

        await asyncio.gather(*(add(n) for n in range(6)), *(add_and_remove(n) for n in range(6, 12)))
        found = await graph.everything()
        kept = {attempts[n].document.id for n in range(6)}
        assert {row[3] for row in found["mentions"]} == {row[0] for row in found["relations"]} == kept
        assert (len(found["mentions"]), len(found["relations"])) == (6 * 40 * 6, 6 * 40 * 15)
        assert {row[2] for row in found["mentions"]} == {name.lower() for name in names}


async def test_the_same_new_entities_in_any_order_are_added_at_once(dsn: str) -> None:
    rng = random.Random(5)
    async with many_connections(dsn, 8) as database:
        graph = await Graph.begin(database)
        attempts = [await graph.claim() for _ in range(8)]
        for round_ in range(6):
            names = [f"Boat {round_} {n}" for n in range(300)]
            chunks = [
                [chunk(round_ * 100 + n, *some) for n, some in enumerate(_in_tens(rng.sample(names, len(names))))]
                for _ in attempts
            ]
            await asyncio.gather(*(graph.add(one, *some) for one, some in zip(attempts, chunks, strict=True)))
        assert len(await graph.names()) == 6 * 300


async def test_a_removal_waits_for_who_is_adding_and_then_leaves_what_he_mentions(graph: Graph) -> None:
    old = await graph.document(chunk(0, "Kelp Point"))
    attempt = await graph.claim()
    async with graph.database.transaction() as connection:
        await connection.execute(ADD, attempt.job_id, attempt.token, items(chunk(0, "Kelp Point")))
        removal = asyncio.create_task(graph.remove(old))
        await until_someone_waits_for_a_lock(graph.database)
    assert (await removal)["entities"] == 0
    assert [row[3] for row in (await graph.everything())["mentions"]] == [attempt.job_id]


async def test_who_adds_waits_for_a_removal_and_then_makes_what_it_took(graph: Graph) -> None:
    old = await graph.document(chunk(0, "Kelp Point"))
    attempt = await graph.claim()
    async with graph.database.transaction() as connection:
        await connection.execute("select holdfast.remove_part_from_graph(holdfast.generation_of($1), null)", old)
        addition = asyncio.create_task(graph.add(attempt, chunk(0, "Kelp Point")))
        await until_someone_waits_for_a_lock(graph.database)
    await addition
    assert [row[3] for row in (await graph.everything())["mentions"]] == [attempt.job_id]


@pytest.mark.parametrize("role", ["holdfast_worker", "holdfast_api", "holdfast_readonly"])
async def test_nobody_writes_the_tables_or_removes_a_document_from_them(database: Database, role: str) -> None:
    for sql in (
        "insert into holdfast.entity (organisation, kind, name, normalised_name) values ('acme', 'a', 'b', 'c')",
        "delete from holdfast.entity_mention",
        "select holdfast.remove_part_from_graph(1, null)",
    ):
        with pytest.raises(DatabaseUnusable):
            await execute_as(database, role, sql)


async def execute_as(database: Database, role: str, sql: str) -> None:
    async with database.transaction() as connection:
        await connection.execute(f"set local role {role}")
        await connection.execute(sql)


async def test_a_worker_may_add(graph: Graph) -> None:
    attempt = await graph.claim()
    for call in ("begin_graph({0}, {1}, 10)", "add_to_graph({0}, {1}, '[]')"):
        await execute_as(
            graph.database, "holdfast_worker", "select holdfast." + call.format(attempt.job_id, attempt.token)
        )


def _in_tens(names: list[str]) -> list[list[str]]:
    return [names[first : first + 10] for first in range(0, len(names), 10)]
