"""Finding passages by meaning, and by words and meaning together."""

import asyncio
from itertools import product

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

MANY = 5_200
FILL = """
with document as (
    insert into holdfast.document (organisation, source_name, metadata, created_at, searchable_at)
    select 'acme', 'many', jsonb_build_object('part', n % 2), holdfast.clock(), holdfast.clock()
    from generate_series(1, 2) n
    returning id
)
insert into holdfast.chunk
    (document_id, ordinal, organisation, id, start_at, end_at, text, text_hash, configuration, words)
select d.id, n, 'acme', substr(md5(concat(d.id, t)), 1, 24), 0, 1, t, md5(t), 'english', ''
from document d, unnest($1::text[]) with ordinality as u(t, n)
"""
WHO = ["captain", "teacher", "engineer", "gardener", "doctor", "baker", "judge", "nurse", "painter", "farmer"]
DID = ["praised", "sold", "repaired", "forgot", "measured", "painted", "borrowed", "hid", "described", "counted"]
WHAT = ["boat", "lemon", "contract", "piano", "ladder", "letter", "bridge", "carpet", "engine", "garden"]
WHERE = ["harbour", "kitchen", "court", "school", "forest", "station"]
BUILD_INDEX = """
create index embedding_nearest_56 on holdfast.embedding
    using hnsw ((vector::extensions.halfvec(256)) extensions.halfvec_cosine_ops) where embedder_id = 56
"""


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


async def fill_many(library: Library) -> None:
    """More passages than are compared one by one where there is an index, and that index."""
    await library.add(CAT, TAX, SHIP, metadata={"kind": "real"})
    sentences = [
        f"The {who} {did} the {what} near the {where}." for who, did, what, where in product(WHO, DID, WHAT, WHERE)
    ]
    await library.database.execute(FILL, sentences[: MANY // 2])
    # No number that a model of other tests had here: an index is also built over rows that are gone but still seen.
    await library.database.fetchval("select setval('holdfast.embedder_id_seq', 55)")
    await embed_all(library.database)
    await library.database.execute(BUILD_INDEX)


async def test_index_is_used_and_finds_what_comparing_with_all_finds(library: Library, database: Database) -> None:
    await fill_many(library)
    vector = (await LightEmbedder().embed(["a boat in the harbour"])).vectors[0].tolist()
    asked = {"words": "boat", "phrases": [], "without": []}
    find = "select similarity from holdfast.find_by_vector('acme', $1, 'light-256', $2, '{}', 50)"
    async with database.transaction() as connection:
        by_index = await connection.fetch(find, vector, asked)
        scans = "select pg_stat_get_xact_numscans('holdfast.embedding_nearest_56'::regclass)"
        assert await connection.fetchval(scans) > 0
    await database.execute("drop index holdfast.embedding_nearest_56")
    assert by_index == await database.fetch(find, vector, asked)


async def test_filters_lose_nothing_in_the_index(library: Library, search: Search) -> None:
    await fill_many(library)
    narrow = await search.find("a boat", organisation="acme", mode="vectors", metadata={"kind": "real"}, limit=50)
    assert set(texts(narrow)) == {CAT, TAX, SHIP}
    wide = await search.find("a boat", organisation="acme", mode="vectors", metadata={"part": 1}, limit=50)
    assert [hit.metadata["part"] for hit in wide.hits] == [1] * 50
    demanding = await search.find('a boat "cargo vessel"', organisation="acme", mode="vectors", limit=50)
    assert texts(demanding) == [SHIP]
