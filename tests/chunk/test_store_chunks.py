"""What the database promises about chunks."""

import hashlib
import json
from typing import Any

import pytest

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.errors import Conflict
from tests.chunk.documents import chunks_of
from tests.engine.scenario import Scenario, begin, plain
from tests.engine.test_roles import acting_as


def item(ordinal: int, text: str, **facts: Any) -> dict[str, Any]:
    return {
        "ordinal": ordinal,
        "id": f"{ordinal:024x}",
        "start_at": ordinal,
        "end_at": ordinal + 5,
        "text": text,
        **facts,
    }


async def store(database: Database, attempt: Attempt, *items: dict[str, Any]) -> None:
    await database.execute(
        "select holdfast.store_chunks($1, $2, $3::text::jsonb)", attempt.job_id, attempt.token, json.dumps(items)
    )


@pytest.fixture
async def scenario(database: Database) -> Scenario:
    return await begin(database, plain("chunk", "embed"))


@pytest.fixture
async def attempt(scenario: Scenario) -> Attempt:
    await scenario.submit_one()
    return await scenario.claim_one("chunk")


async def test_a_worker_that_lost_its_claim_stores_nothing(scenario: Scenario, attempt: Attempt) -> None:
    await scenario.settle([attempt])
    with pytest.raises(Conflict, match="lost"):
        await store(scenario.database, attempt, item(0, "late"))
    assert await chunks_of(scenario.database, attempt.document.id) == []


async def test_a_chunk_belongs_to_its_jobs_document_and_organisation(database: Database, attempt: Attempt) -> None:
    await store(database, attempt, item(0, "The tide turned.", document_id=999, organisation="other"))
    (row,) = await chunks_of(database, attempt.document.id)
    assert row["organisation"] == "acme"


async def test_storing_the_same_again_writes_nothing(database: Database, attempt: Attempt) -> None:
    version = "select xmin::text from holdfast.chunk"
    await store(database, attempt, item(0, "The tide turned.", place={"pages": [1]}))
    first = await database.fetchval(version)
    await store(database, attempt, item(0, "The tide turned.", place={"pages": [1]}))
    assert await database.fetchval(version) == first


async def test_another_chunk_in_its_place_replaces_it(database: Database, attempt: Attempt) -> None:
    await store(database, attempt, item(0, "old words", context="before"))
    await store(database, attempt, item(0, "new words", context="after", place={"pages": [2]}))
    (row,) = await chunks_of(database, attempt.document.id)
    assert (row["text"], row["context"], row["place"]) == ("new words", "after", {"pages": [2]})
    assert await database.fetchval("select words @@ 'new' and not words @@ 'old' from holdfast.chunk")


@pytest.mark.parametrize(("context", "embedded"), [("Above.", "Above.\n\nText."), ("", "Text.")])
async def test_text_hash_names_what_is_embedded(
    database: Database, attempt: Attempt, context: str, embedded: str
) -> None:
    await store(database, attempt, item(0, "Text.", context=context))
    (row,) = await chunks_of(database, attempt.document.id)
    assert row["text_hash"] == hashlib.sha256(embedded.encode()).hexdigest()


@pytest.mark.parametrize(
    ("language", "configuration"),
    [
        (None, "english"),
        ("unknown", "english"),
        ("en-GB", "english"),
        ("de", "german"),
        ("pt_BR", "portuguese"),
        ("ja", "simple"),
    ],
)
async def test_words_are_stemmed_as_their_language_demands(
    database: Database, attempt: Attempt, language: str | None, configuration: str
) -> None:
    await store(database, attempt, item(0, "Häuser houses", language=language))
    found = await database.fetchval("select configuration::text from holdfast.chunk")
    assert found == configuration


async def test_headings_weigh_more_than_text_and_text_more_than_context(database: Database, attempt: Attempt) -> None:
    await store(database, attempt, item(0, "ropes", heading="Ferry", context="lighthouse"))
    rows = await database.fetch("select lexeme, weights from holdfast.chunk, lateral unnest(words) order by weights")
    assert [(row["lexeme"], row["weights"]) for row in rows] == [
        ("ferri", ["A"]),
        ("rope", ["B"]),
        ("lighthous", ["C"]),
    ]


async def test_finishing_removes_what_a_longer_run_left(database: Database, attempt: Attempt) -> None:
    await store(database, attempt, *(item(n, f"passage {n}") for n in range(5)))
    await database.execute("select holdfast.finish_chunks($1, 3)", attempt.job_id)
    assert [row["ordinal"] for row in await chunks_of(database, attempt.document.id)] == [0, 1, 2]


async def test_removing_says_how_many_there_were(scenario: Scenario, attempt: Attempt) -> None:
    database = scenario.database
    other = await scenario.submit_one()
    other_attempt = await scenario.claim_one("chunk")
    await store(database, attempt, item(0, "one"), item(1, "two"))
    await store(database, other_attempt, item(0, "kept"))
    remove = "select holdfast.remove_chunks($1, null)"
    assert await database.fetchval(remove, attempt.job_id) == {"chunks": 2}
    assert await database.fetchval(remove, attempt.job_id) == {"chunks": 0}
    assert len(await chunks_of(database, other.document_id)) == 1


async def test_worker_role_stores_and_finishes(database: Database, attempt: Attempt) -> None:
    async with acting_as("holdfast_worker", database) as connection:
        body = json.dumps([item(0, "one"), item(1, "two")])
        await connection.execute(
            "select holdfast.store_chunks($1, $2, $3::text::jsonb)", attempt.job_id, attempt.token, body
        )
        await connection.execute("select holdfast.finish_chunks($1, 1)", attempt.job_id)
    assert len(await chunks_of(database, attempt.document.id)) == 1
