"""By which way the nearest vectors are found, all compared or by the index, and that neither shows what it must not."""

from itertools import product
from typing import Any

import pytest

from holdfast.db.connection import Database
from holdfast.embed.reindex import reindex
from holdfast.providers.light import LightEmbedder
from holdfast.search.search import Search
from tests.search.embedders import CountingEmbedder
from tests.search.library import ANSWER, Library

QUESTION = "a boat in the harbour"
ASKED = {"words": "boat", "phrases": [], "without": []}
CAT = "The cat sleeps on the sofa all afternoon."
TAX = "Income tax returns are due at the end of July."
SHIP = "The cargo vessel left the port at dawn."
WHO = ["captain", "teacher", "engineer", "gardener", "doctor", "baker"]
DID = ["praised", "sold", "repaired", "forgot", "measured", "painted"]
WHAT = ["boat", "lemon", "contract", "piano", "ladder", "letter", "bridge", "carpet", "engine", "garden"]
WHERE = ["harbour", "kitchen", "court", "school", "forest", "station"]
SENTENCES = [
    f"The {who} {did} the {what} near the {where}." for who, did, what, where in product(WHO, DID, WHAT, WHERE)
]
FILL = """
with document as (
    insert into holdfast.document (organisation, source_name, metadata, created_at, searchable_at)
    select $1, 'many', jsonb_build_object('part', n), holdfast.clock(), holdfast.clock()
    from generate_series(1, 2) n
    returning id, metadata
)
insert into holdfast.chunk
    (generation_id, ordinal, organisation, id, start_at, end_at, text, text_hash, configuration, words)
select d.id, n, $1, substr(md5(concat(d.id, t)), 1, 24), 0, 1, t, md5(t), 'english', ''
from document d, unnest($2::text[]) with ordinality as u(t, n)
where n % 2 = (d.metadata ->> 'part')::integer % 2
"""
BUILD_INDEX = """
create index embedding_nearest_{0} on holdfast.embedding
    using hnsw ((vector::extensions.halfvec(256)) extensions.halfvec_cosine_ops) where embedder_id = {0}
"""
COMPARE = """
create or replace function holdfast.compared_at_most(p_embedder smallint) returns bigint language sql stable
as 'select {}'
"""
# Above what any test stores, and so few that the index answers wherever it can.
ALL, FEW = 1_000_000, 300
BOTH_WAYS = pytest.mark.parametrize("compared", [pytest.param(ALL, id="exact"), pytest.param(FEW, id="index")])


@pytest.fixture
def search(database: Database) -> Search:
    return Search(database, LightEmbedder())


async def fill(library: Library, *organisations: str) -> int:
    """1,080 passages of each, their vectors and the index of these; says the model's number."""
    for organisation in organisations:
        await library.database.execute(FILL, organisation, SENTENCES[::2])
    await library.database.execute(ANSWER)
    # No number that a model of other tests had here: an index is also built over rows that are gone but still seen.
    model: int = 1 + await library.database.fetchval("select setval('holdfast.embedder_id_seq', 55)")
    await reindex(library.database, LightEmbedder())
    await library.database.execute(BUILD_INDEX.format(model))
    return model


async def nearest(database: Database, filters: dict[str, Any] | None = None) -> tuple[list[tuple[Any, ...]], bool]:
    """What stands nearest to the question in acme, and whether the index was asked."""
    vector = (await LightEmbedder().embed([QUESTION])).vectors[0].tolist()
    find = "select generation_id, ordinal, similarity from holdfast.find_by_vector('acme', $1, 'light-256', $2, $3, 50)"
    scans = "select pg_stat_get_xact_numscans('holdfast.embedding_nearest_56'::regclass)"
    async with database.transaction() as connection:
        rows = await connection.fetch(find, vector, ASKED, filters or {})
        return [tuple(row) for row in rows], await connection.fetchval(scans) > 0


@pytest.mark.parametrize(
    ("compared", "filters", "by_index"),
    [
        (1079, {}, True),
        (1080, {}, False),
        (539, {"metadata": {"part": 1}}, True),
        (540, {"metadata": {"part": 1}}, False),
        (540, {"metadata": {"part": 3}}, False),
    ],
)
async def test_index_answers_where_more_fit_than_are_compared(
    library: Library, database: Database, compared: int, filters: dict[str, Any], by_index: bool
) -> None:
    await fill(library, "acme", "other")
    await database.execute(COMPARE.format(compared))
    assert (await nearest(database, filters))[1] is by_index


async def test_all_are_compared_up_to_sixty_thousand_and_more_among_many_millions(
    library: Library, database: Database
) -> None:
    most = "select holdfast.compared_at_most(56::smallint)"
    assert await database.fetchval(most) is None
    await fill(library, "acme")
    assert await database.fetchval(most) == 60_000
    await database.execute("update pg_class set reltuples = 9e6 where relname = 'embedding_nearest_56'")
    assert await database.fetchval(most) == 180_000


async def test_index_finds_what_comparing_with_all_finds(library: Library, database: Database) -> None:
    await fill(library, "acme", "other")
    exact, by_index = await nearest(database)
    assert (len(exact), by_index) == (50, False)
    await database.execute(COMPARE.format(FEW))
    assert await nearest(database) == (exact, True)


@BOTH_WAYS
async def test_nothing_of_another_organisation_is_found(library: Library, database: Database, compared: int) -> None:
    stranger = await library.add(QUESTION, organisation="other")
    await fill(library, "acme", "other")
    await database.execute(COMPARE.format(compared))
    found, by_index = await nearest(database)
    assert (len(found), by_index) == (50, compared == FEW)
    own = await database.fetch("select id from holdfast.document where organisation = 'acme'")
    assert {document_id for document_id, _, _ in found} <= {row["id"] for row in own} - {stranger}


@BOTH_WAYS
async def test_nothing_of_another_model_is_found(library: Library, database: Database, compared: int) -> None:
    decoy = await library.add(CAT)
    await fill(library, "acme")
    # The other model finds in the cat what this one finds in the question.
    await database.execute(
        """
        insert into holdfast.embedding (generation_id, ordinal, embedder_id, organisation, text_hash, vector)
        select generation_id, ordinal, 57, organisation, text_hash, $2::real[]::extensions.vector
        from holdfast.embedding where generation_id = $1
        """,
        decoy,
        (await LightEmbedder().embed([QUESTION])).vectors[0].tolist(),
    )
    await database.execute(COMPARE.format(compared))
    found, by_index = await nearest(database)
    assert (len(found), by_index) == (50, compared == FEW)
    assert decoy not in {document_id for document_id, _, _ in found}


@BOTH_WAYS
async def test_vector_of_a_text_that_its_passage_has_no_more_is_passed_over(
    library: Library, database: Database, compared: int
) -> None:
    changed = await library.add(QUESTION, SHIP)
    await fill(library, "acme")
    await database.execute(COMPARE.format(compared))
    assert (changed, 0) in {found[:2] for found in (await nearest(database))[0]}
    await library.put(changed, 0, CAT)
    found, by_index = await nearest(database)
    assert (len(found), by_index) == (50, compared == FEW)
    assert (changed, 0) not in {one[:2] for one in found}


@BOTH_WAYS
async def test_filters_and_demands_lose_nothing(
    library: Library, search: Search, database: Database, compared: int
) -> None:
    await library.add(CAT, TAX, SHIP, metadata={"kind": "real"})
    await fill(library, "acme")
    await database.execute(COMPARE.format(compared))
    narrow = await search.find("a boat", organisation="acme", mode="vectors", metadata={"kind": "real"}, limit=50)
    assert {hit.text for hit in narrow.hits} == {CAT, TAX, SHIP}
    wide = await search.find("a boat", organisation="acme", mode="vectors", metadata={"part": 1}, limit=50)
    assert [hit.metadata["part"] for hit in wide.hits] == [1] * 50
    demanding = await search.find('a boat "cargo vessel"', organisation="acme", mode="vectors", limit=50)
    assert [hit.text for hit in demanding.hits] == [SHIP]


async def test_searches_of_a_replaced_model_are_refused_by_the_database_too(
    library: Library, database: Database
) -> None:
    await library.add(SHIP)
    await reindex(database, CountingEmbedder(name="other"))
    refusal = "select holdfast.find_by_vector('acme', array_fill(0.1::real, array[256]), $1, $2, '{}', 5)"
    assert await database.fetch(refusal, "other", ASKED)
    with pytest.raises(Exception, match='of model "other", not of "light-256"'):
        await database.fetch(refusal, "light-256", ASKED)
