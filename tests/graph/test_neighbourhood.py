"""What found passages speak of and what that stands next to: by searchable documents only, each with a source."""

import pytest

from holdfast.graph.neighbourhood import Neighbour, Spoken, neighbourhood
from tests.graph.graph import Graph, chunk, thing
from tests.plans.cost import rows_read

MOST_ROWS = 2_000  # of the thirty thousand mentions and relations


async def around(graph: Graph, *chunks: tuple[int, int], organisation: str = "acme", limit: int = 8) -> list[Spoken]:
    return await neighbourhood(graph.database, organisation, chunks, limit=limit)


def shown(spoken: list[Spoken]) -> dict[str, list[tuple[str, int]]]:
    return {one.name: [(neighbour.name, neighbour.strength) for neighbour in one.neighbours] for one in spoken}


async def test_neighbours_carry_how_who_how_often_and_where(graph: Graph) -> None:
    fact = chunk(0, thing("Otto Klein", "person"), thing("Kelp Point", "place"), facts=[(0, "works_at", 1)])
    first = await graph.document(fact)
    second = await graph.document(chunk(3, *fact.entities, facts=[(0, "works_at", 1)]))
    assert await around(graph, (first, 0)) == [
        Spoken(
            "person", "Otto Klein", 1, (Neighbour("place", "Kelp Point", "works_at", True, "model-1", 2, second, 3),)
        ),
        Spoken(
            "place", "Kelp Point", 1, (Neighbour("person", "Otto Klein", "works_at", False, "model-1", 2, second, 3),)
        ),
    ]


async def test_strength_is_how_many_chunks_say_so(graph: Graph) -> None:
    first = await graph.document(chunk(0, "Kelp Point", "Gull Island"), chunk(1, "Kelp Point", "Gull Island"))
    await graph.document(chunk(0, "Kelp Point", "Gull Island"), chunk(1, "Kelp Point", "Otto Klein"))
    assert shown(await around(graph, (first, 0)))["Kelp Point"] == [("Gull Island", 3), ("Otto Klein", 1)]


async def test_what_more_of_the_passages_speak_of_comes_first(graph: Graph) -> None:
    document = await graph.document(
        chunk(0, thing("Kelp Point", count=9)), chunk(1, "Gull Island"), chunk(2, "Gull Island")
    )
    spoken = await around(graph, (document, 0), (document, 1), (document, 2), (document, 2))
    assert [(one.name, one.passages) for one in spoken] == [("Gull Island", 2), ("Kelp Point", 1)]


async def test_names_come_before_dates_and_phrases_and_facts_before_what_stands_side_by_side(graph: Graph) -> None:
    gate, point = thing("tidal gate", "phrase", 5), thing("Kelp Point", "place", 2)
    day, code = thing("1 May", "date", 9), thing("KP-7", "code")
    document = await graph.document(*(chunk(n, gate, point, day, code) for n in range(3)))
    await graph.document(chunk(0, point, thing("Anna Berg", "person"), facts=[(1, "lives_in", 0)]))
    spoken = await around(graph, (document, 0))
    assert [one.name for one in spoken] == ["Kelp Point", "KP-7", "1 May", "tidal gate"]
    assert shown(spoken)["Kelp Point"] == [("Anna Berg", 1), ("KP-7", 3), ("1 May", 3), ("tidal gate", 3)]


@pytest.mark.parametrize(
    "change",
    [
        "searchable_at = null",
        "superseded_at = holdfast.clock(), superseded_by = id",
        "deleted_at = holdfast.clock()",
    ],
)
async def test_documents_that_cannot_be_found_say_nothing(graph: Graph, change: str) -> None:
    seen = await graph.document(chunk(0, "Kelp Point", "Gull Island"))
    hidden = await graph.document(chunk(0, "Kelp Point", "Gull Island", "Otto Klein"))
    await graph.database.execute(f"update holdfast.document set {change} where id = $1", hidden)
    assert shown(await around(graph, (seen, 0), (hidden, 0))) == {
        "Gull Island": [("Kelp Point", 1)],
        "Kelp Point": [("Gull Island", 1)],
    }


async def test_another_organisations_chunks_say_nothing(graph: Graph) -> None:
    theirs = await graph.document(chunk(0, "Kelp Point", "Gull Island"), organisation="globex")
    mine = await graph.document(chunk(0, "Kelp Point"))
    assert await around(graph, (theirs, 0)) == []
    assert shown(await around(graph, (mine, 0), (theirs, 0))) == {"Kelp Point": []}


async def test_no_more_than_asked_for(graph: Graph) -> None:
    document = await graph.document(chunk(0, *(f"Boat {n}" for n in range(9))))
    spoken = await around(graph, (document, 0), limit=3)
    assert [len(one.neighbours) for one in spoken] == [3, 3, 3]


async def test_nothing_is_spoken_of_where_nothing_was_found(graph: Graph) -> None:
    assert await around(graph) == []
    assert await around(graph, (999, 0)) == []


@pytest.mark.parametrize("role", ["holdfast_worker", "holdfast_api", "holdfast_readonly"])
async def test_readers_may_ask(graph: Graph, role: str) -> None:
    document = await graph.document(chunk(0, "Kelp Point", "Gull Island"))
    async with graph.database.transaction() as connection:
        await connection.execute(f"set local role {role}")
        sql = "select count(*) from holdfast.neighbourhood('acme', $1::text::jsonb, 8)"
        assert await connection.fetchval(sql, f'[{{"document_id": {document}, "ordinal": 0}}]') == 2


FILL = """
insert into holdfast.entity_mention (entity_id, generation_id, ordinal, organisation, count)
select e.id, holdfast.generation_of({document}), n, 'acme', 1
from holdfast.entity e, generate_series({first}, {last}) n;
insert into holdfast.relation
    (generation_id, ordinal, subject_id, predicate, object_id, organisation, maker, confidence)
select holdfast.generation_of({document}), n, s.id, 'mentioned_with', o.id, 'acme', 'mentions', 0.3
from holdfast.entity s join holdfast.entity o on s.id < o.id, generate_series({first}, {last}) n;
analyze holdfast.entity_mention, holdfast.relation;
"""


async def test_a_question_costs_the_same_however_often_an_entity_is_mentioned(graph: Graph) -> None:
    document = await graph.document(chunk(0, "Kelp Point", "Gull Island", "Otto Klein"))

    question = f"select * from holdfast.neighbourhood('acme', '[{{\"document_id\": {document}, \"ordinal\": 0}}]', 8)"
    await graph.database.execute(FILL.format(document=document, first=1, last=10_000))
    async with graph.database.transaction() as connection:
        assert await rows_read(connection, question) < MOST_ROWS
