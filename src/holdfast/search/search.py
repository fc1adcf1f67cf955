"""Search over what was ingested: words and meaning together, with the place each passage came from."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg

from holdfast.db.connection import Database
from holdfast.engine.organisation import checked_organisation
from holdfast.errors import Conflict, DatabaseUnavailable, DatabaseUnusable, InvalidInput, NetworkTimeout, PhaseError
from holdfast.providers.embedder import Embedder
from holdfast.search.excerpt import Stretch, choose
from holdfast.search.highlights import ranges_of, words_of
from holdfast.search.hit import Found, Hit, Mode, Why
from holdfast.search.narrowing import narrowed
from holdfast.search.question import Question
from holdfast.standard import Place, Span, Spans

MOST_HITS = 200
EMBEDDING_SECONDS = 5.0  # who asks is waiting, and words answer meanwhile
_MODES = ("fused", "words", "vectors")
_BY_WORDS = "found by words alone"
_NO_LIBRARY = "58P01"  # the files of an extension are gone, as after an upgrade of the server


class Search:
    """Finds passages of an organisation's searchable documents. Without an embedder by their words alone."""

    def __init__(self, database: Database, embedder: Embedder | None) -> None:
        self._database = database
        self._embedder = embedder

    async def find(
        self,
        question: str,
        *,
        organisation: str,
        limit: int = 10,
        mode: Mode = "fused",
        source_platform: str | None = None,
        source_location: str | None = None,
        source_name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        document_id: int | None = None,
    ) -> Found:
        """The best passages. Raises InvalidInput for a question without words, or for vectors where none are.

        Where both are asked for and vectors cannot answer, words do and a note says why.
        Words are alternatives, rare ones weigh more; "phrases in quotes" must occur, -words must not. Only documents
        that have all of `metadata` and fit the other filters are looked at.
        """
        if mode not in _MODES or not 1 <= limit <= MOST_HITS:
            raise InvalidInput(f"search for 1 to {MOST_HITS} hits in mode {', '.join(_MODES)}, not {limit} in {mode!r}")
        checked_organisation(organisation)
        asked = Question.read(question)
        filters: dict[str, Any] = {
            "source_platform": source_platform,
            "source_location": source_location,
            "source_name": source_name,
            "metadata": dict(metadata) if metadata else None,
            "document_id": document_id,
        }
        filters = {name: value for name, value in filters.items() if value is not None}
        vector, notes = None, tuple[str, ...]()
        if mode != "words":
            try:
                vector = await self._vector(asked)
            except (InvalidInput, PhaseError) as obstacle:
                if mode == "vectors":
                    raise
                notes = (f"{_BY_WORDS}: {obstacle}",)
        reached: Mode = "words" if vector is None else mode
        try:
            rows = await self._rows(organisation, asked, vector, reached, filters, limit)
        except Exception as obstacle:
            reason = _what_keeps_vectors(obstacle)
            if reached != "fused" or reason is None:
                raise
            # Should words fail as well, it was not the vectors.
            reached, notes = "words", (f"{_BY_WORDS}: {reason}",)
            rows = await self._rows(organisation, asked, None, reached, filters, limit)
        return Found(await self._hits(asked, rows), reached, notes)

    async def _rows(
        self,
        organisation: str,
        asked: Question,
        vector: list[float] | None,
        mode: Mode,
        filters: Mapping[str, Any],
        limit: int,
    ) -> list[asyncpg.Record]:
        sql = "select * from holdfast.find($1, $2, $3, $4, $5, $6, $7)"
        # Another model may have become the one that answers while this one embedded the question.
        model = None if self._embedder is None else self._embedder.name
        return await self._database.fetch(sql, organisation, asked.to_json(), vector, model, mode, filters, limit)

    async def _vector(self, asked: Question) -> list[float]:
        """The question as stored vectors are compared with it. Raises InvalidInput when none can be, or PhaseError."""
        if self._embedder is None:
            raise InvalidInput("no embedder is configured")
        answering = await self._database.fetchrow("select name from holdfast.answering_embedder()")
        if answering is None:
            raise InvalidInput("nothing has been embedded yet, or pgvector is missing: see `holdfast migrate --check`")
        if answering["name"] != self._embedder.name:
            raise InvalidInput(f'the vectors stored are of model "{answering["name"]}", not of "{self._embedder.name}"')
        # A model of this machine is not silent but busy, or being loaded.
        patience = None if self._embedder.provider is None else EMBEDDING_SECONDS
        try:
            async with asyncio.timeout(patience):
                embedded = await self._embedder.embed([asked.words])
        except TimeoutError:
            raise NetworkTimeout(f"the embedder did not answer within {EMBEDDING_SECONDS:.0f} seconds") from None
        vector: list[float] = embedded.vectors[0].tolist()
        return vector

    async def _hits(self, asked: Question, rows: Sequence[asyncpg.Record]) -> tuple[Hit, ...]:
        wanted: dict[str, dict[str, frozenset[int]]] = {}
        for configuration in {row["configuration"] for row in rows}:
            words = set[str]().union(*(words_of(row["text"]) for row in rows if row["configuration"] == configuration))
            matching = await self._database.fetch(
                "select * from holdfast.words_to_highlight($1, $2, $3)", asked.to_json(), configuration, sorted(words)
            )
            numbers: dict[str, frozenset[int]] = {}
            for word, number in matching:
                numbers[word] = numbers.get(word, frozenset()) | {number}
            wanted[configuration] = numbers
        return tuple(_hit(row, wanted[row["configuration"]]) for row in rows)


def _what_keeps_vectors(error: Exception) -> str | None:
    """Why words have to answer alone; None when it is not about vectors, as when the database is out of reach.

    Another model answers by now, or pgvector fails: taken away, forbidden or broken.
    """
    if isinstance(error, Conflict):
        return str(error)
    is_about_vectors = (
        getattr(error.__cause__, "sqlstate", None) == _NO_LIBRARY
        if isinstance(error, DatabaseUnavailable)
        else isinstance(error, DatabaseUnusable | asyncpg.PostgresError)
    )
    return f"vectors cannot be read: {str(error).partition(chr(10))[0]}" if is_about_vectors else None


def _hit(row: asyncpg.Record, wanted: Mapping[str, frozenset[int]]) -> Hit:
    text = row["text"]
    highlights = ranges_of(text, wanted)
    place = Place.from_json(row["place"])
    spans = [Span.from_json(span) for span in row["place"].get("spans", ())]
    marks = [Stretch(start, end, wanted[text[start:end]]) for start, end in highlights]
    excerpt = choose(text, marks, sorted({span.start for span in spans}))
    return Hit(
        document_id=row["document_id"],
        ordinal=row["ordinal"],
        chunk_id=row["chunk_id"],
        title=row["title"],
        source_name=row["source_name"],
        source_platform=row["source_platform"],
        source_location=row["source_location"],
        metadata=row["metadata"],
        place=narrowed(place, Spans(spans), excerpt.found),
        passage_place=place,
        text=text,
        context=row["context"],
        score=row["score"],
        why=Why(
            words_rank=row["words_rank"],
            words_score=row["words_score"],
            matched_words=tuple(row["matched"] or ()),
            vector_rank=row["vector_rank"],
            similarity=row["similarity"],
        ),
        highlights=highlights,
        excerpt=(excerpt.start, excerpt.end),
    )
