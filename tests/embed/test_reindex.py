"""Replacing the model that answers searches, while it answers them."""

from decimal import Decimal

import asyncpg
import pytest

from holdfast.db.connection import Database
from holdfast.embed.phase import Embed
from holdfast.embed.reindex import reindex, remove_replaced
from holdfast.engine.overview import Overview
from holdfast.engine.pipeline import Done
from holdfast.errors import NetworkTimeout
from holdfast.providers.light import LightEmbedder
from tests.conftest import Clock
from tests.embed.desk import Desk, open_desk
from tests.plans.cost import rows_read
from tests.search.embedders import CountingEmbedder

TEXTS = [f"passage number {n}" for n in range(6)]


@pytest.fixture
async def desk(database: Database) -> Desk:
    return await open_desk(database)


async def active_model(desk: Desk) -> str:
    return str(await desk.fetchval("select name from holdfast.embedder where active"))


async def searchable(desk: Desk, *passages: str, organisation: str = "acme") -> int:
    """A document that went through its pipeline with the model that answers now."""
    attempt = await desk.take_in(*passages, organisation=organisation)
    await desk.embed(attempt, LightEmbedder())
    await desk.fetchval("select holdfast.publish_document($1, $2)", attempt.document.id, attempt.job_id)
    return attempt.document.id


async def test_new_model_answers_when_everything_has_its_vectors(desk: Desk) -> None:
    document_id = await searchable(desk, *TEXTS)
    embedder = CountingEmbedder(name="other")
    seen: list[int] = []
    done = await reindex(desk.library.database, embedder, on_progress=lambda done: seen.append(done.embedded))
    assert (done.embedded, done.reused, done.active) == (6, 0, True)
    assert done.cost_usd == 3 * embedder.cost_usd
    assert seen == [6]
    assert await active_model(desk) == "other"
    assert len(await desk.hashes(document_id, "other")) == len(await desk.hashes(document_id)) == 6


async def test_stopped_reindexing_goes_on_where_it_was_while_the_old_model_answers(desk: Desk) -> None:
    await searchable(desk, *TEXTS)
    with pytest.raises(NetworkTimeout):
        await reindex(desk.library.database, CountingEmbedder(name="other", answers=2))
    assert await active_model(desk) == "light-256"
    again = CountingEmbedder(name="other")
    await reindex(desk.library.database, again)
    assert again.texts == TEXTS[4:]
    assert await active_model(desk) == "other"


async def test_document_that_came_in_meanwhile_is_reindexed_too(desk: Desk) -> None:
    await searchable(desk, *TEXTS)
    came_in: list[int] = []

    async def take_in_another() -> None:
        if len(came_in) < 3:
            came_in.append(await searchable(desk, f"newcomer {len(came_in)}"))

    await reindex(desk.library.database, CountingEmbedder(name="other", meanwhile=take_in_another))
    assert await active_model(desk) == "other"
    assert [len(await desk.hashes(document_id, "other")) for document_id in came_in] == [1, 1, 1]


async def test_document_embedded_but_not_yet_searchable_is_reindexed_too(desk: Desk) -> None:
    attempt = await desk.take_in(*TEXTS)
    await desk.embed(attempt, LightEmbedder())
    await reindex(desk.library.database, CountingEmbedder(name="other"))
    assert len(await desk.hashes(attempt.document.id, "other")) == 6


async def test_model_that_lacks_a_vector_cannot_be_made_to_answer(desk: Desk) -> None:
    await searchable(desk, *TEXTS)
    other = await desk.fetchval("select id from holdfast.register_embedder('other', 256)")
    assert await desk.fetchval("select holdfast.activate_embedder($1)", other) is False
    assert await active_model(desk) == "light-256"


async def test_closed_model_takes_no_vectors_but_still_answers(desk: Desk) -> None:
    await searchable(desk, *TEXTS)
    attempt = await desk.take_in("late")

    async def close() -> None:
        await desk.fetchval("select holdfast.close_embedder()")

    await desk.refuse(attempt, Embed(desk.library.database, CountingEmbedder(meanwhile=close)))
    assert 'model "light-256" is being replaced' in await desk.next(attempt)
    assert await desk.hashes(attempt.document.id) == []
    assert await active_model(desk) == "light-256"


async def test_document_of_a_worker_with_the_old_model_waits_for_one_with_the_new(desk: Desk) -> None:
    old = Embed(desk.library.database, LightEmbedder())
    before = await desk.take_in(*TEXTS)
    done = await old.run(before)
    assert isinstance(done, Done)
    await desk.settle(before, done)
    attempt = await desk.take_in("late")
    new = CountingEmbedder(name="other")
    await reindex(desk.library.database, new)
    await desk.refuse(attempt, old)
    assert 'answered by model "other", this worker embeds with "light-256"' in await desk.next(attempt)
    await desk.fetchval("update holdfast.pipeline_job set ready_at = holdfast.clock() where id = $1", attempt.job_id)
    await desk.embed(await desk.scenario.claim_one("embed"), new)
    assert await desk.scenario.outcomes(attempt.job_id) == ["released", "completed"]


async def test_document_of_known_passages_waits_for_a_worker_with_the_new_model_too(desk: Desk) -> None:
    old = Embed(desk.library.database, LightEmbedder())
    before = await desk.take_in(*TEXTS)
    done = await old.run(before)
    assert isinstance(done, Done)
    await desk.settle(before, done)
    attempt = await desk.take_in(*TEXTS)
    await reindex(desk.library.database, CountingEmbedder(name="other"))
    await desk.refuse(attempt, old)


async def test_one_organisation_is_prepared_without_switching(desk: Desk) -> None:
    mine = await searchable(desk, *TEXTS)
    theirs = await searchable(desk, *TEXTS, organisation="other")
    done = await reindex(desk.library.database, CountingEmbedder(name="new"), organisation="acme")
    assert not done.active
    assert await active_model(desk) == "light-256"
    assert (len(await desk.hashes(mine, "new")), len(await desk.hashes(theirs, "new"))) == (6, 0)


async def test_equal_texts_of_an_organisation_are_embedded_once(desk: Desk) -> None:
    for _ in range(3):
        await searchable(desk, *TEXTS)
    embedder = CountingEmbedder(name="new", best_batch=1024)
    await reindex(desk.library.database, embedder)
    assert embedder.texts == TEXTS


async def test_vectors_of_replaced_models_are_removed_on_request(desk: Desk) -> None:
    document_id = await searchable(desk, *TEXTS)
    await reindex(desk.library.database, CountingEmbedder(name="other"))
    assert await remove_replaced(desk.library.database) == 6
    assert (len(await desk.hashes(document_id)), len(await desk.hashes(document_id, "other"))) == (0, 6)


async def test_vectors_of_a_reindexing_under_way_are_not_removed(desk: Desk) -> None:
    document_id = await searchable(desk, *TEXTS)
    with pytest.raises(NetworkTimeout):
        await reindex(desk.library.database, CountingEmbedder(name="other", answers=2))
    assert await remove_replaced(desk.library.database) == 0
    assert len(await desk.hashes(document_id, "other")) == 4
    again = CountingEmbedder(name="other")
    await reindex(desk.library.database, again)
    assert again.texts == TEXTS[4:]
    assert await remove_replaced(desk.library.database) == 6


async def test_vectors_of_a_reindexing_that_nobody_went_on_with_are_removed_in_the_end(
    desk: Desk, clock: Clock
) -> None:
    document_id = await searchable(desk, *TEXTS)
    await reindex(desk.library.database, CountingEmbedder(name="new"), organisation="acme")
    await clock.advance(days=29)
    assert await remove_replaced(desk.library.database) == 0
    await clock.advance(days=2)
    assert await remove_replaced(desk.library.database) == 6
    assert len(await desk.hashes(document_id)) == 6


async def test_model_cannot_be_made_to_answer_while_what_came_in_since_all_was_looked_at_lacks_a_vector(
    desk: Desk,
) -> None:
    await searchable(desk, *TEXTS)
    new = CountingEmbedder(name="other")
    await reindex(desk.library.database, new, organisation="acme")
    activate = "select holdfast.activate_embedder(id, $1) from holdfast.embedder where name = 'other'"
    since = await desk.fetchval("select holdfast.clock()")
    await searchable(desk, "newcomer")
    assert await desk.fetchval(activate, since) is False
    await reindex(desk.library.database, new, organisation="acme")
    assert await desk.fetchval(activate, since) is True


async def test_step_of_reindexing_reads_little_however_much_is_done(desk: Desk, dsn: str) -> None:
    embedder = CountingEmbedder(name="other", best_batch=1000)
    last: tuple[int, int] = (await searchable(desk, *TEXTS), 5)
    await reindex(desk.library.database, embedder)
    steps = (
        "select holdfast.next_place(0, -1, 6)",
        f"select holdfast.take_for_reindexing({{}}::smallint, null, 0, -1, {last[0]}, {last[1]}, 6)",
        "select holdfast.activate_embedder({}::smallint, holdfast.clock())",
    )

    for number in range(3):
        await desk.library.add(*(f"{number} and {n}" for n in range(200)))
    await reindex(desk.library.database, embedder)
    model = await desk.fetchval("select id from holdfast.embedder where active")
    connection = await asyncpg.connect(dsn)
    try:
        read = [await rows_read(connection, step.format(model)) for step in steps]
    finally:
        await connection.close()
    # Of six passages in three or four tables each; six hundred are done.
    assert max(read) < 60, read


async def test_vectors_are_made_for_documents_that_were_searchable_without(desk: Desk) -> None:
    document_id = await desk.library.add(*TEXTS)
    await reindex(desk.library.database, CountingEmbedder(name="first"))
    assert len(await desk.hashes(document_id, "first")) == 6
    assert await active_model(desk) == "first"


async def test_what_reindexing_cost_is_on_the_account_of_whose_passages_they_are(desk: Desk) -> None:
    await searchable(desk, *TEXTS)
    await searchable(desk, "one more", "and another", organisation="other")
    done = await reindex(desk.library.database, CountingEmbedder(name="new", best_batch=3))
    overview = Overview(desk.library.database)
    costs = await overview.costs()
    assert {(row["organisation"], row["pipeline"], row["phase"]) for row in costs} == {
        ("acme", "reindex", "new"),
        ("other", "reindex", "new"),
    }
    assert sum(row["cost_usd"] for row in costs) == done.cost_usd == Decimal("0.03")
    assert sum(row["cost_usd"] for row in await overview.costs_by_day()) == done.cost_usd


async def test_call_that_failed_while_reindexing_is_on_the_account_as_wasted(desk: Desk) -> None:
    await searchable(desk, *TEXTS)
    with pytest.raises(NetworkTimeout):
        await reindex(desk.library.database, CountingEmbedder(name="new", answers=2))
    (row,) = await Overview(desk.library.database).costs()
    assert (row["attempts"], row["cost_usd"], row["wasted_usd"]) == (3, Decimal("0.021"), Decimal("0.001"))


async def test_reindexing_with_a_free_model_is_on_no_account(desk: Desk) -> None:
    await searchable(desk, *TEXTS)
    await reindex(desk.library.database, CountingEmbedder(name="new", cost_usd=Decimal(0)))
    assert await Overview(desk.library.database).costs() == []
