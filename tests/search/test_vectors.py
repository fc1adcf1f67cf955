"""Finding passages by meaning, and by words and meaning together."""

import asyncio

import asyncpg
import pytest

from holdfast.db.connection import Database
from holdfast.embed.reindex import reindex
from holdfast.errors import Conflict, DatabaseUnusable, InvalidInput, NetworkTimeout
from holdfast.providers.light import LightEmbedder
from holdfast.search.hit import Found
from holdfast.search.search import Search
from tests.search.embedders import CountingEmbedder
from tests.search.library import Library

CAT = "The cat sleeps on the sofa all afternoon."
TAX = "Income tax returns are due at the end of July."
SHIP = "The cargo vessel left the port at dawn."


@pytest.fixture
def search(database: Database) -> Search:
    return Search(database, LightEmbedder())


async def embed_all(database: Database) -> None:
    await reindex(database, LightEmbedder())


def texts(found: Found) -> list[str]:
    return [hit.text for hit in found.hits]


async def test_passage_is_found_by_meaning_without_a_common_word(
    library: Library, search: Search, database: Database
) -> None:
    await library.add(CAT, TAX, SHIP)
    await embed_all(database)
    found = await search.find("boats sailing from a harbour", organisation="acme", mode="vectors")
    assert found.hits[0].text == SHIP
    assert found.hits[0].why.vector_rank == 1
    assert found.hits[0].why.similarity is not None
    assert 0 < found.hits[0].why.similarity < 1
    assert found.hits[0].highlights == ()


async def test_fused_ranks_first_what_words_and_meaning_agree_on(
    library: Library, search: Search, database: Database
) -> None:
    await library.add(CAT, TAX, SHIP, "A ship in a bottle stands on the desk.")
    await embed_all(database)
    found = await search.find("vessel leaving port", organisation="acme")
    first = found.hits[0]
    assert (first.text, first.why.words_rank, first.why.vector_rank) == (SHIP, 1, 1)
    assert first.score == pytest.approx(2 / 2 + 1 / 2)
    assert (found.mode, found.notes) == ("fused", ())
    assert len(found.hits) == 4


async def test_exclusions_and_phrases_bind_vectors_too(library: Library, search: Search, database: Database) -> None:
    await library.add(CAT, TAX, SHIP)
    await embed_all(database)
    found = await search.find("boat -vessel", organisation="acme", mode="vectors")
    assert set(texts(found)) == {CAT, TAX}
    found = await search.find('boat "income tax"', organisation="acme", mode="vectors")
    assert texts(found) == [TAX]
    assert texts(await search.find('boat "are due at the end"', organisation="acme", mode="vectors")) == [TAX]
    assert texts(await search.find('boat "due in the end"', organisation="acme", mode="vectors")) == []


async def test_vectors_of_documents_that_may_not_be_found_are_passed_over(
    library: Library, search: Search, database: Database
) -> None:
    await library.add(SHIP, organisation="other")
    removed = await library.add(SHIP)
    await library.add(CAT)
    await embed_all(database)
    await database.execute("update holdfast.document set deleted_at = holdfast.clock() where id = $1", removed)
    found = await search.find("boats in a harbour", organisation="acme", mode="vectors")
    assert texts(found) == [CAT]


async def test_filters_narrow_vectors(library: Library, search: Search, database: Database) -> None:
    await library.add(SHIP)
    await library.add(CAT, metadata={"team": "sales"})
    await embed_all(database)
    found = await search.find("boats", organisation="acme", metadata={"team": "sales"})
    assert texts(found) == [CAT]


async def test_vectors_of_another_model_are_not_compared(library: Library, search: Search, database: Database) -> None:
    await library.add(SHIP)
    await reindex(database, CountingEmbedder(name="other"))
    found = await search.find("vessel", organisation="acme")
    assert found.mode == "words"
    assert 'of model "other"' in found.notes[0]
    with pytest.raises(InvalidInput, match="other"):
        await search.find("vessel", organisation="acme", mode="vectors")


async def test_model_replaced_while_the_question_is_embedded_is_not_compared_with(
    library: Library, database: Database
) -> None:
    await library.add(SHIP)
    await embed_all(database)

    async def replace() -> None:
        await reindex(database, CountingEmbedder(name=f"next-{len(asking.calls)}"))

    asking = CountingEmbedder(meanwhile=replace)
    found = await Search(database, asking).find("vessel", organisation="acme")
    assert (texts(found), found.mode) == ([SHIP], "words")
    assert found.notes == ('found by words alone: the vectors stored are of model "next-1", not of "light-256"',)
    assert found.hits[0].why.vector_rank is None
    await embed_all(database)
    with pytest.raises(Conflict, match="next-2"):
        await Search(database, asking).find("vessel", organisation="acme", mode="vectors")


async def test_words_answer_while_the_embedder_cannot(library: Library, database: Database) -> None:
    await library.add(SHIP)
    await embed_all(database)
    search = Search(database, CountingEmbedder(answers=0))
    found = await search.find("vessel", organisation="acme")
    assert (texts(found), found.mode) == ([SHIP], "words")
    assert found.notes == ("found by words alone: the other side broke off",)
    with pytest.raises(NetworkTimeout):
        await search.find("vessel", organisation="acme", mode="vectors")


@pytest.mark.parametrize(
    ("break_vectors", "mend_vectors"),
    [
        (
            "revoke execute on function extensions.cosine_distance(extensions.vector, extensions.vector) from public",
            "grant execute on function extensions.cosine_distance(extensions.vector, extensions.vector) to public",
        ),
        (
            "alter function holdfast.to_vector(real[]) rename to no_vector",
            "alter function holdfast.no_vector(real[]) rename to to_vector",
        ),
    ],
)
async def test_words_answer_while_vectors_cannot_be_read(
    library: Library, search: Search, database: Database, break_vectors: str, mend_vectors: str
) -> None:
    await library.add(SHIP)
    await embed_all(database)
    await database.execute(break_vectors)
    try:
        found = await search.find("vessel", organisation="acme")
        assert (texts(found), found.mode) == ([SHIP], "words")
        assert found.notes[0].startswith("found by words alone: vectors cannot be read: ")
        with pytest.raises((DatabaseUnusable, asyncpg.PostgresError)):
            await search.find("vessel", organisation="acme", mode="vectors")
    finally:
        await database.execute(mend_vectors)


async def test_words_answer_while_the_embedder_is_silent(
    library: Library, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.search.search.EMBEDDING_SECONDS", 0.05)
    await library.add(SHIP)
    await embed_all(database)
    silent = CountingEmbedder(provider="elsewhere", meanwhile=lambda: asyncio.sleep(60))
    found = await Search(database, silent).find("vessel", organisation="acme")
    assert (texts(found), found.mode) == ([SHIP], "words")
    assert "did not answer within" in found.notes[0]


async def test_question_is_embedded_without_its_signs_and_exclusions(library: Library, database: Database) -> None:
    await library.add(SHIP)
    await embed_all(database)
    embedder = CountingEmbedder()
    await Search(database, embedder).find('when did the "cargo vessel" leave -cat', organisation="acme")
    assert embedder.texts == ["when did the cargo vessel leave"]
