"""What a job makes of a document is a generation of its own: the one that answers is never touched by another run."""

import pytest

from holdfast.db.connection import Database
from holdfast.embed.phase import Embed
from holdfast.engine.attempt import Attempt
from holdfast.providers.light import LightEmbedder
from holdfast.publish.removal import remove_retired_generations
from holdfast.search.search import Search
from holdfast.standard import Artifact, Carried
from tests.chunk.test_store_chunks import item, store
from tests.engine.scenario import Scenario, begin, plain

CARRIED = Carried(original=Artifact("0" * 64, 1), media_type="text/plain", name="notes.txt", chunks=1).to_json()
ROWS = "select (select count(*) from holdfast.chunk) + (select count(*) from holdfast.embedding)"


@pytest.fixture
async def scenario(database: Database) -> Scenario:
    return await begin(database, plain("chunk", "embed", "publish"))


async def chunk(scenario: Scenario, text: str, document_id: int | None = None) -> Attempt:
    """Another run of a document, or a new one, up to its passages."""
    await scenario.submit_one(document_id=document_id, input=CARRIED)
    attempt = await scenario.claim_one("chunk")
    await store(scenario.database, attempt, item(0, text))
    return attempt


async def finish(scenario: Scenario, attempt: Attempt) -> None:
    await scenario.settle([attempt])
    embedding = await scenario.claim_one("embed")
    done = await Embed(scenario.database, LightEmbedder()).run(embedding)
    await scenario.settle([embedding], done)
    publishing = await scenario.claim_one("publish")
    async with scenario.database.transaction() as connection:
        await connection.execute("select holdfast.publish_document($1, $2)", attempt.document.id, attempt.job_id)
    await scenario.settle([publishing])


async def act(scenario: Scenario, act: str, attempt: Attempt) -> None:
    await scenario.database.execute(f"select holdfast.{act}(array[$1::bigint])", attempt.job_id)


async def found(scenario: Scenario, question: str) -> list[str]:
    answer = await Search(scenario.database, LightEmbedder()).find(question, organisation="acme")
    return [hit.text for hit in answer.hits]


async def test_run_that_is_cancelled_half_way_leaves_what_answers_as_it_was(scenario: Scenario) -> None:
    first = await chunk(scenario, "The anchor lies off Kelp Point.")
    await finish(scenario, first)
    again = await chunk(scenario, "The falcon nests on the tower.", first.document.id)
    assert await found(scenario, "anchor falcon") == ["The anchor lies off Kelp Point."]
    await act(scenario, "cancel", again)
    assert await found(scenario, "falcon") == await found(scenario, "anchor") == ["The anchor lies off Kelp Point."]


async def test_finished_run_replaces_the_one_before_and_what_that_made_goes(scenario: Scenario) -> None:
    first = await chunk(scenario, "The anchor lies off Kelp Point.")
    await finish(scenario, first)
    given_up = await chunk(scenario, "The walrus sleeps.", first.document.id)
    await act(scenario, "cancel", given_up)
    await finish(scenario, await chunk(scenario, "The falcon nests on the tower.", first.document.id))
    assert await found(scenario, "anchor walrus falcon") == ["The falcon nests on the tower."]
    assert await scenario.database.fetchval(ROWS) == 5
    assert await remove_retired_generations(scenario.database) == 2
    assert await scenario.database.fetchval(ROWS) == 2
    assert await remove_retired_generations(scenario.database) == 0
    assert await found(scenario, "anchor walrus falcon") == ["The falcon nests on the tower."]


async def test_older_run_that_ends_later_replaces_nothing(scenario: Scenario) -> None:
    first = await chunk(scenario, "The anchor lies off Kelp Point.")
    await act(scenario, "cancel", first)
    await finish(scenario, await chunk(scenario, "The falcon nests on the tower.", first.document.id))
    await act(scenario, "retry", first)
    again = await scenario.claim_one("chunk")
    await store(scenario.database, again, item(0, "The anchor lies off Kelp Point."))
    await finish(scenario, again)
    assert await found(scenario, "anchor falcon") == ["The falcon nests on the tower."]


async def test_what_a_late_run_makes_of_a_replaced_version_goes_again(scenario: Scenario) -> None:
    first = await chunk(scenario, "The anchor lies off Kelp Point.")
    await finish(scenario, first)
    replaced = "superseded_at = holdfast.clock(), superseded_by = id, purged_at = holdfast.clock()"
    await scenario.database.execute(f"update holdfast.document set {replaced}")
    await finish(scenario, await chunk(scenario, "The falcon nests on the tower.", first.document.id))
    assert await remove_retired_generations(scenario.database) == 1


async def test_generation_of_a_job_that_was_opened_again_is_kept(scenario: Scenario) -> None:
    first = await chunk(scenario, "The anchor lies off Kelp Point.")
    await act(scenario, "cancel", first)
    await finish(scenario, await chunk(scenario, "The falcon nests on the tower.", first.document.id))
    await act(scenario, "retry", first)
    assert await remove_retired_generations(scenario.database) == 0
    assert await scenario.database.fetchval("select count(*) from holdfast.chunk") == 2
