"""How long a search takes over 100,000 passages of one organisation: by words, by vectors, by both."""

import random
import time
from collections.abc import AsyncIterator, Sequence
from statistics import quantiles
from typing import TYPE_CHECKING

import numpy as np

from bench.figure import Figure
from bench.place import Place, connected
from holdfast.db.connection import connect
from holdfast.providers.light import LightEmbedder
from holdfast.search.hit import Mode
from holdfast.search.search import Search
from holdfast.settings import Settings

if TYPE_CHECKING:
    import asyncpg

ORGANISATION = "acme"
PASSAGES_PER_DOCUMENT = 20
WORDS_PER_PASSAGE = 180
VOCABULARY = 30_000
SEARCHES = 200
GOAL_P50_MS = 50.0
GOAL_P99_MS = 200.0
MODES: tuple[Mode, ...] = ("words", "vectors", "fused")

INSERT_DOCUMENTS = """
insert into holdfast.document (id, organisation, source_name, source_platform, metadata, created_at, searchable_at,
                               generation_id)
select n, $1, 'document ' || n, 'upload', jsonb_build_object('part', n % 10), holdfast.clock(), holdfast.clock(), n
from generate_series(1, $2::integer) n
"""
INSERT_CHUNKS = """
insert into holdfast.chunk
    (generation_id, ordinal, organisation, id, start_at, end_at, text, text_hash, configuration, words)
select $2 + n / $3::integer, n % $3, $1, substr(md5(t), 1, 24), n, n + 1, t, md5(t), 'english',
       setweight(to_tsvector('english', t), 'B')
from (select t, n - 1 from unnest($4::text[]) with ordinality as u(t, n)) as u(t, n)
"""
INSERT_VECTORS = """
insert into holdfast.embedding (generation_id, ordinal, embedder_id, organisation, text_hash, vector)
select c.generation_id, c.ordinal, $1, c.organisation, c.text_hash,
       ($2::real[])[(n - 1) * $3 + 1 : n * $3]::extensions.vector
from (
    select *, row_number() over (order by generation_id, ordinal) as n
    from holdfast.chunk
    where generation_id between $4::bigint and $5::bigint
) c
"""


async def measure(place: Place) -> list[Figure]:
    """The median and the slowest of a hundred of each mode, the question's own embedding included."""
    passages = place.scale.passages
    async with place.database("searching") as dsn:
        async with connected(dsn) as connection:
            await fill(connection, passages)
        async with connect(Settings(database_url=dsn)) as database:
            search = Search(database, LightEmbedder())
            return [figure for mode in MODES async for figure in _measure_mode(search, mode, passages)]


async def fill(connection: "asyncpg.Connection[asyncpg.Record]", passages: int) -> None:
    """Documents whose words are as unevenly common as those of a language, with vectors in clusters, indexed."""
    embedder, words = LightEmbedder(), _Words(seed=1)
    model = await connection.fetchval(
        "select id from holdfast.register_embedder($1, $2)", embedder.name, embedder.dimension
    )
    await connection.execute(INSERT_DOCUMENTS, ORGANISATION, passages // PASSAGES_PER_DOCUMENT)
    vectors = _Vectors(embedder.dimension, seed=2)
    for start in range(0, passages, 2000):
        first = 1 + start // PASSAGES_PER_DOCUMENT
        texts = words.passages(2000)
        await connection.execute(INSERT_CHUNKS, ORGANISATION, first, PASSAGES_PER_DOCUMENT, texts)
        last = first + 2000 // PASSAGES_PER_DOCUMENT - 1
        numbers = vectors.some(2000).ravel().tolist()
        await connection.execute(INSERT_VECTORS, model, numbers, embedder.dimension, first, last)
    await connection.execute("select holdfast.index_embedder($1)", model, timeout=600)
    await connection.execute("vacuum analyze", timeout=600)


async def _measure_mode(search: Search, mode: Mode, passages: int) -> AsyncIterator[Figure]:
    words = _Words(seed=3)
    took = []
    for _ in range(SEARCHES):
        question = words.question()
        began = time.perf_counter()
        found = await search.find(question, organisation=ORGANISATION, mode=mode)
        took.append((time.perf_counter() - began) * 1000)
        if not found.hits:
            raise RuntimeError(f"nothing was found for {question!r}: the passages were not filled as planned")
    percentiles = quantiles(took[SEARCHES // 10 :], n=100)
    for name, measured, goal in (("p50", percentiles[49], GOAL_P50_MS), ("p99", percentiles[98], GOAL_P99_MS)):
        yield Figure(
            name=f"search by {mode}, {passages:,} passages, {name}",
            measured=measured,
            against=goal,
            unit="ms",
            baseline="goal",
            demand="at most",
        )


class _Words:
    """Made-up words: the n-th is about n times rarer than the first. Each seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        syllables = random.Random(0)
        parts = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
        self._vocabulary = np.array(["".join(syllables.choices(parts, k=4)) for _ in range(VOCABULARY)])
        shares = 1 / np.arange(3, VOCABULARY + 3)
        self._shares = shares / shares.sum()

    def passages(self, count: int) -> list[str]:
        picked = self._random.choice(self._vocabulary, size=(count, WORDS_PER_PASSAGE), p=self._shares)
        return [" ".join(row) for row in picked.tolist()]

    def question(self) -> str:
        """Two very common words, three less so and two rare ones."""
        return " ".join([*self._some(0, 50, 2), *self._some(50, 2000, 3), *self._some(2000, VOCABULARY, 2)])

    def _some(self, start: int, end: int, count: int) -> Sequence[str]:
        picked: list[str] = self._random.choice(self._vocabulary[start:end], size=count).tolist()
        return picked


class _Vectors:
    """Vectors of length 1 around five hundred centres."""

    def __init__(self, dimension: int, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._centres = self._random.normal(size=(500, dimension))

    def some(self, count: int) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
        around = self._centres[self._random.integers(0, 500, count)]
        vectors = around + self._random.normal(size=around.shape) * 0.8
        scaled: np.ndarray[tuple[int, int], np.dtype[np.float32]] = (
            vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        ).astype(np.float32)
        return scaled
