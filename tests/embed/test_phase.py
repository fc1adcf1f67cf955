"""The embed phase: what gets a vector, what is reused, and what a failure leaves behind."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pytest

from holdfast.db.connection import Database, connect
from holdfast.embed.phase import Embed
from holdfast.errors import Conflict, NetworkTimeout, PhaseError, StorageUnavailable
from holdfast.providers.embedder import Embedded
from holdfast.providers.light import LightEmbedder
from holdfast.settings import Settings
from tests.embed.desk import Desk, open_desk
from tests.endpoint import with_option
from tests.search.embedders import CountingEmbedder

BUILD_INDEX = "select holdfast.index_embedder(78::smallint)"
SLOW_INDEX = """
alter function holdfast.create_nearest_index(smallint, integer) rename to create_at_once;
create function holdfast.create_nearest_index(smallint, integer) returns void language plpgsql as $$
begin
    perform pg_sleep(1.2);
    perform holdfast.create_at_once($1, $2);
end $$;
"""
FIVE = ("one apple", "two pears", "three plums", "four figs", "five dates")


@pytest.fixture
async def desk(database: Database) -> Desk:
    return await open_desk(database)


async def test_every_passage_gets_the_vector_of_its_context_and_text(desk: Desk) -> None:
    attempt = await desk.take_in("an apple", "a pear")
    await desk.library.put(attempt.document.id, 2, "a plum")
    await desk.fetchval(
        """
        update holdfast.chunk
        set context = 'Fruit', text_hash = holdfast.hash_of_embedded('Fruit', text)
        where generation_id = $1 and ordinal = 1
        """,
        attempt.job_id,
    )
    attempt.input["chunks"] = 3  # type: ignore[index,call-overload]
    embedder = CountingEmbedder()
    done = await desk.embed(attempt, embedder)
    assert embedder.calls == [["an apple", "Fruit\n\na pear"], ["a plum"]]
    expected = (await LightEmbedder().embed(["Fruit\n\na pear"])).vectors[0]
    stored = await desk.fetchval(
        "select vector::real[] from holdfast.embedding where generation_id = $1 and ordinal = 1", attempt.job_id
    )
    assert np.array(stored, dtype=np.float32).tolist() == expected.tolist()
    assert (done.output, done.cost_usd, attempt.fraction) == (attempt.input, Decimal("0.02"), 1.0)


async def test_document_of_many_windows_is_embedded_whole(desk: Desk) -> None:
    attempt = await desk.take_in(*[f"passage number {n}" for n in range(1100)])
    await desk.embed(attempt, CountingEmbedder(best_batch=500, paid=False))
    assert len(await desk.hashes(attempt.document.id)) == 1100


async def test_what_has_its_vector_is_not_embedded_again(desk: Desk) -> None:
    attempt = await desk.take_in(*FIVE)
    await desk.run(attempt, CountingEmbedder())
    again = CountingEmbedder()
    assert (await desk.embed(attempt, again)).cost_usd == 0
    assert again.calls == []


async def test_only_a_changed_passage_is_embedded_again(desk: Desk) -> None:
    attempt = await desk.take_in(*FIVE)
    await desk.run(attempt, CountingEmbedder())
    before = await desk.hashes(attempt.document.id)
    await desk.library.put(attempt.document.id, 2, "three cherries")
    embedder = CountingEmbedder()
    await desk.embed(attempt, embedder)
    assert embedder.texts == ["three cherries"]
    after = await desk.hashes(attempt.document.id)
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, True, False, True, True]


async def test_equal_text_of_another_document_is_reused(desk: Desk) -> None:
    await desk.embed(await desk.take_in(*FIVE), CountingEmbedder())
    attempt = await desk.take_in("new words", *FIVE)
    embedder = CountingEmbedder()
    await desk.embed(attempt, embedder)
    assert embedder.texts == ["new words"]
    assert len(await desk.hashes(attempt.document.id)) == 6


async def test_passage_changed_to_a_known_text_gets_the_known_vector(desk: Desk) -> None:
    known = await desk.take_in(*FIVE)
    await desk.embed(known, CountingEmbedder())
    attempt = await desk.take_in("something else")
    await desk.run(attempt, CountingEmbedder())
    await desk.library.put(attempt.document.id, 0, FIVE[0])
    embedder = CountingEmbedder()
    await desk.embed(attempt, embedder)
    assert embedder.calls == []
    assert await desk.hashes(attempt.document.id) == (await desk.hashes(known.document.id))[:1]


async def test_equal_text_of_another_organisation_is_not_reused(desk: Desk) -> None:
    await desk.embed(await desk.take_in(*FIVE, organisation="other"), CountingEmbedder())
    embedder = CountingEmbedder()
    await desk.embed(await desk.take_in(*FIVE), embedder)
    assert embedder.texts == list(FIVE)


async def test_text_that_occurs_twice_is_embedded_once(desk: Desk) -> None:
    attempt = await desk.take_in("the same", "another", "the same")
    embedder = CountingEmbedder()
    await desk.embed(attempt, embedder)
    assert embedder.texts == ["the same", "another"]
    hashes = await desk.hashes(attempt.document.id)
    assert hashes[0] == hashes[2] != hashes[1]


async def test_failure_names_what_was_spent_and_keeps_what_was_paid_for(desk: Desk) -> None:
    attempt = await desk.take_in(*FIVE)
    with pytest.raises(NetworkTimeout) as raised:
        await desk.embed(attempt, CountingEmbedder(answers=2))
    assert raised.value.cost_usd == Decimal("0.021")
    again = CountingEmbedder()
    await desk.embed(attempt, again)
    assert again.texts == ["five dates"]


async def test_lost_claim_writes_nothing(desk: Desk) -> None:
    attempt = await desk.take_in(*FIVE)
    await desk.fetchval("update holdfast.pipeline_job set token = token + 1 where id = $1", attempt.job_id)
    with pytest.raises(Conflict, match="claim on job"):
        await desk.embed(attempt, CountingEmbedder())
    assert await desk.hashes(attempt.document.id) == []


async def test_claim_lost_while_embedding_writes_nothing_more(desk: Desk) -> None:
    attempt = await desk.take_in(*FIVE)

    async def lose() -> None:
        await desk.fetchval("update holdfast.pipeline_job set token = token + 1 where id = $1", attempt.job_id)

    with pytest.raises(Conflict, match="claim on job"):
        await desk.embed(attempt, CountingEmbedder(meanwhile=lose))
    assert await desk.hashes(attempt.document.id) == []


@dataclass(slots=True)
class Liar(CountingEmbedder):
    """Promises vectors of another size than it answers."""

    dimension: int = 128


async def test_vectors_of_a_wrong_size_are_refused_and_were_paid_for(desk: Desk) -> None:
    with pytest.raises(PhaseError, match="128 numbers were promised") as raised:
        await desk.embed(await desk.take_in(*FIVE), Liar(name="liar"))
    assert (raised.value.error_code, raised.value.cost_usd) == ("WRONG_VECTORS", Decimal("0.01"))


async def test_same_name_with_another_dimension_is_refused(desk: Desk) -> None:
    await desk.embed(await desk.take_in(*FIVE), CountingEmbedder())
    with pytest.raises(Conflict, match="vectors of 256 numbers stored"):
        await desk.embed(await desk.take_in("more"), Liar())


async def test_document_waits_uncharged_for_a_worker_with_the_model_that_answers(desk: Desk) -> None:
    await desk.embed(await desk.take_in(*FIVE), CountingEmbedder())
    attempt = await desk.take_in("more")
    await desk.refuse(attempt, Embed(desk.library.database, CountingEmbedder(name="other")))
    job = await desk.scenario.job(attempt.job_id)
    assert (job["state"], job["retry_count"], job["last_error"]) == ("held", 0, None)
    told = await desk.next(attempt)
    assert 'answered by model "light-256", this worker embeds with "other"' in told
    assert "holdfast reindex --model other" in told
    problems = await desk.fetchval("select problems from holdfast.overview_health()")
    assert any(problem.startswith("1 jobs of embed wait for someone: searches are answered by") for problem in problems)


async def test_document_that_is_refused_has_paid_nothing(desk: Desk) -> None:
    await desk.embed(await desk.take_in(*FIVE), CountingEmbedder())
    other = CountingEmbedder(name="other")
    await desk.refuse(await desk.take_in("more"), Embed(desk.library.database, other))
    assert other.calls == []


async def test_what_was_paid_before_the_model_was_replaced_is_on_the_account(desk: Desk) -> None:
    attempt = await desk.take_in(*FIVE)
    embedder = CountingEmbedder()

    async def replace_after_two() -> None:
        if len(embedder.calls) == 2:
            await desk.fetchval("select holdfast.close_embedder()")

    embedder.meanwhile = replace_after_two
    await desk.refuse(attempt, Embed(desk.library.database, embedder))
    assert (await desk.scenario.job(attempt.job_id))["total_cost_usd"] == Decimal("0.02")


async def test_phase_does_not_end_while_a_passage_has_no_vector(desk: Desk) -> None:
    attempt = await desk.take_in(*FIVE)
    done = await desk.run(attempt, CountingEmbedder())
    await desk.library.put(attempt.document.id, 4, "changed in between")
    with pytest.raises(Conflict, match="passages without a vector"):
        await desk.settle(attempt, done)


async def test_without_pgvector_it_says_what_to_do_and_goes_on_once_it_is_there(desk: Desk) -> None:
    await desk.fetchval("drop table holdfast.embedding")
    await desk.fetchval("drop extension vector cascade")
    attempt = await desk.take_in(*FIVE)
    with pytest.raises(StorageUnavailable, match="create extension vector") as raised:
        await desk.embed(attempt, CountingEmbedder())
    assert raised.value.error_code == "NO_PGVECTOR"
    await desk.fetchval("create extension vector schema extensions")
    await desk.embed(attempt, CountingEmbedder())
    assert len(await desk.hashes(attempt.document.id)) == 5


async def test_removing_counts_what_was_there(desk: Desk) -> None:
    attempt = await desk.take_in(*FIVE)
    await desk.embed(attempt, CountingEmbedder())
    removed = [await desk.fetchval("select holdfast.remove_embeddings($1, null)", attempt.job_id) for _ in range(2)]
    assert removed == [{"embeddings": 5}, {"embeddings": 0}]


async def test_model_with_many_vectors_gets_an_index_once(desk: Desk) -> None:
    await fill_up_to_an_index(desk)
    built = [await desk.fetchval(BUILD_INDEX) for _ in range(2)]
    assert built == [True, False]


async def test_vectors_wait_for_an_index_that_is_built_and_hold_no_connection(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    await fill_up_to_an_index(desk)
    attempt = await desk.take_in(*FIVE)
    async with desk.library.database.transaction() as building:
        assert await building.fetchval(BUILD_INDEX)
        embedding = asyncio.create_task(desk.embed(attempt, WideEmbedder()))
        async with asyncio.timeout(30):
            while "database.unavailable" not in caplog.text:
                await asyncio.sleep(0.01)
        waiting = "select count(*) from pg_locks where not granted and database = "
        waiting += "(select oid from pg_database where datname = current_database())"
        assert await building.fetchval(waiting) == 0
        assert not embedding.done()
    await embedding
    assert len(await desk.hashes(attempt.document.id, "wide")) == 5


async def test_index_is_built_within_a_large_document(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.embed.batches._WINDOW", 2)
    await fill_up_to_an_index(desk)
    attempt = await desk.take_in(*FIVE)
    embedder, indexed = WideEmbedder(), []

    async def look() -> None:
        indexed.append(await desk.fetchval("select to_regclass('holdfast.embedding_nearest_78') is not null"))

    embedder.meanwhile = look
    await desk.embed(attempt, embedder)
    assert indexed == [False, True, True]


async def test_index_takes_longer_to_build_than_the_server_allows_a_statement(desk: Desk, dsn: str) -> None:
    await fill_up_to_an_index(desk)
    attempt = await desk.take_in(*FIVE)
    await desk.library.database.execute(SLOW_INDEX)
    async with connect(Settings(database_url=with_option(dsn, "statement_timeout", "1s"))) as limited:
        await Embed(limited, WideEmbedder()).run(attempt)
    assert await desk.fetchval("select to_regclass('holdfast.embedding_nearest_78') is not null")


class WideEmbedder(CountingEmbedder):
    """Each vector many times as long, for a model that soon needs an index."""

    def __init__(self) -> None:
        super().__init__(name="wide", dimension=4000)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        embedded = await super().embed(texts)
        return replace(embedded, vectors=np.resize(embedded.vectors, (len(texts), self.dimension)))


async def fill_up_to_an_index(desk: Desk) -> None:
    """Vectors of 4,000 numbers each, so that 1,921 are many: with the last one the model needs its index."""
    document_id = await desk.library.add("seed")
    # No number that a model of other tests had here: an index is also built over rows that are gone but still seen.
    await desk.fetchval("select setval('holdfast.embedder_id_seq', 77)")
    await desk.fetchval("select holdfast.register_embedder('wide', 4000)")
    await desk.fetchval(
        """
        insert into holdfast.chunk
            (generation_id, ordinal, organisation, id, start_at, end_at, text, text_hash, configuration, words)
        select $1, n, 'acme', lpad(to_hex(n), 24, '0'), 0, 1, 'x', 'x', 'english', ''
        from generate_series(1, 1920) n
        """,
        document_id,
    )
    fill = """
        insert into holdfast.embedding (generation_id, ordinal, embedder_id, organisation, text_hash, vector)
        select generation_id, ordinal, 78, organisation, text_hash,
               (array_fill(0.1::real, array[3999]) || ordinal::real)::extensions.vector
        from holdfast.chunk
        where ordinal between $1 and $2
        """
    await desk.library.database.execute(fill, 1, 1920)
    assert await desk.fetchval(BUILD_INDEX) is False
    await desk.library.database.execute(fill, 0, 0)
