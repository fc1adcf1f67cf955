"""Searches by vector find what comparing with every vector finds, for small and large organisations among many."""

import hashlib
from datetime import UTC, datetime
from typing import Any

import asyncpg
import numpy as np
import pytest

from holdfast.db.connection import Database
from holdfast.embed.vectors import _binary

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(1800)]

VECTORS, PASSAGES, DIMENSION, CENTRES, QUESTIONS, LIMIT = 500_000, 20, 64, 500, 20, 10
# All others are one large organisation's.
SIZES = {"small": 60, "middle": 5_000, "large": 50_000}
FILTERS: tuple[dict[str, Any], ...] = ({}, {"metadata": {"half": 1}}, {"metadata": {"tenth": 3}})
ASKED = {"words": "anything", "phrases": [], "without": []}
FIND = "select generation_id, ordinal from holdfast.find_by_vector($1, $2, 'made-up', $3, $4, $5)"
EXACTLY = """
select e.generation_id, e.ordinal
from holdfast.embedding e
join holdfast.document d on d.generation_id = e.generation_id
where e.organisation = $1 and d.metadata @> $3
order by e.vector operator(extensions.<=>) $2::real[]::extensions.vector
limit $4
"""
CHUNKS = """
insert into holdfast.chunk
    (generation_id, ordinal, organisation, id, start_at, end_at, text, text_hash, configuration, words)
select d.id, o, d.organisation, substr(md5(concat(d.id, ' ', o)), 1, 24), 0, 1, 'text', md5(concat(d.id, ' ', o)),
       'simple', ''
from holdfast.document d, generate_series(0, $1::integer - 1) o
"""
INDEX = """
create index embedding_nearest_{0} on holdfast.embedding
    using hnsw ((vector::extensions.halfvec({1})) extensions.halfvec_cosine_ops) with (m = 8, ef_construction = 32)
    where embedder_id = {0}
"""
COLUMNS = ["generation_id", "ordinal", "embedder_id", "organisation", "text_hash", "vector"]


@pytest.mark.parametrize("kind", ["clustered", "random"])
async def test_nearest_vectors_are_found_whatever_the_share_of_their_organisation(
    database: Database, dsn: str, kind: str
) -> None:
    connection = await asyncpg.connect(dsn, command_timeout=1200)
    try:
        await _fill(connection, _Vectors(kind, seed=1))
    finally:
        await connection.close()
    questions = _Vectors(kind, seed=2).some(QUESTIONS).tolist()
    recalls = {
        (organisation, str(filters)): await _recall(database, organisation, questions, filters)
        for organisation in SIZES
        for filters in FILTERS
    }
    assert {case: recall for case, recall in recalls.items() if recall < 0.98} == {}


async def _recall(
    database: Database, organisation: str, questions: list[list[float]], filters: dict[str, Any]
) -> float:
    """The share of the nearest ones that a search finds."""
    met = wanted = 0
    for question in questions:
        found = await database.fetch(FIND, organisation, question, ASKED, filters, LIMIT)
        exact = await database.fetch(EXACTLY, organisation, question, filters.get("metadata", {}), LIMIT)
        met += len({tuple(row) for row in found} & {tuple(row) for row in exact})
        wanted += len(exact)
        assert len(found) == len(exact)
    return met / wanted if wanted else 1.0  # a filter may fit none of a small organisation


async def _fill(connection: "asyncpg.Connection[asyncpg.Record]", vectors: "_Vectors") -> None:
    """Documents of all organisations mixed as they come in; every foreign key of the large tables holds by itself."""
    documents = VECTORS // PASSAGES
    owners = [name for name, size in SIZES.items() for _ in range(size // PASSAGES)]
    owners += ["huge"] * (documents - len(owners))
    np.random.default_rng(0).shuffle(owners)
    model = await connection.fetchval("select id from holdfast.register_embedder('made-up', $1)", DIMENSION)
    now = datetime.now(UTC)
    await connection.copy_records_to_table(
        "document",
        schema_name="holdfast",
        columns=["id", "organisation", "source_name", "metadata", "created_at", "searchable_at", "generation_id"],
        records=[
            (n + 1, owner, "made up", f'{{"half": {n % 2}, "tenth": {n % 10}}}', now, now, n + 1)
            for n, owner in enumerate(owners)
        ],
    )
    await connection.execute("set session_replication_role = replica")
    await connection.execute(CHUNKS, PASSAGES)
    await connection.set_type_codec(
        "vector", schema="extensions", encoder=lambda value: value, decoder=lambda value: value, format="binary"
    )
    for start in range(0, VECTORS, 20_000):
        places = [divmod(n, PASSAGES) for n in range(start, start + 20_000)]
        await connection.copy_records_to_table(
            "embedding",
            schema_name="holdfast",
            columns=COLUMNS,
            records=[
                (document + 1, ordinal, model, owners[document], _hash(document + 1, ordinal), vector)
                for (document, ordinal), vector in zip(places, _binary(vectors.some(20_000)), strict=True)
            ],
        )
    await connection.execute("vacuum analyze")
    # Sparser than index_embedder() makes it, in a fraction of the time: no recall here may depend on how good it is.
    await connection.execute("set maintenance_work_mem = '1GB'")
    await connection.execute(INDEX.format(model, DIMENSION))


def _hash(document: int, ordinal: int) -> str:
    return hashlib.md5(f"{document} {ordinal}".encode(), usedforsecurity=False).hexdigest()


class _Vectors:
    """Vectors of length 1: anywhere, or around some centres that are the same for every seed."""

    def __init__(self, kind: str, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._centres = np.random.default_rng(0).normal(size=(CENTRES, DIMENSION)) * (kind == "clustered")

    def some(self, count: int) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
        around = self._centres[self._random.integers(0, CENTRES, count)]
        vectors = around + self._random.normal(size=around.shape) * 0.8
        scaled: np.ndarray[tuple[int, int], np.dtype[np.float32]] = (
            vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        ).astype(np.float32)
        return scaled
