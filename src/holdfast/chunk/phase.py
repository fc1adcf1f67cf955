"""The phase that turns a document's text into chunks."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice

from holdfast.artifacts.store import ArtifactStore
from holdfast.chunk.contextual import Contextual, Passage
from holdfast.chunk.making import NewChunk, make_chunks, read_text
from holdfast.chunk.section import Sizes
from holdfast.chunk.splitting import Splitter
from holdfast.chunk.surroundings import OPENING_CHARACTERS, Surroundings
from holdfast.db.connection import Connection, Database
from holdfast.engine import strict_json
from holdfast.engine.attempt import Attempt, Document
from holdfast.engine.patience import insist
from holdfast.engine.pipeline import Done, Save
from holdfast.errors import EmptyText, PhaseError
from holdfast.providers.answers import Answers
from holdfast.providers.language_model import LanguageModel
from holdfast.standard import Carried, Warning

BATCH = 500
# With a model a chunk takes a second rather than a millisecond: progress should still show.
CONTEXTUAL_BATCH = 40
CHARACTERS_PER_TOKEN = 4
CONTEXTUAL = "contextual"
# Metadata given on a command line are text.
_SAID = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclass(slots=True)
class _Account:
    """What happened so far in one attempt."""

    chunks: int = 0
    refused: int = 0
    spent_usd: Decimal = field(default_factory=Decimal)


class Chunk:
    """Splits, situates and stores. Batches are stored as they come; an attempt that follows a crash writes the same.

    A language model, if there is one, adds to the context of every chunk: of documents whose metadata say
    `{"contextual": true}`, and with `contextual` of all whose metadata do not say false. Yes, 1, no and 0 say so too,
    and what says neither is warned of.
    """

    def __init__(
        self,
        database: Database,
        store: ArtifactStore,
        *,
        sizes: Sizes,
        model: LanguageModel | None = None,
        answers: Answers | None = None,
        calls_at_once: int = 1,
        contextual: bool = True,
        shown_characters: int = 60_000,
    ) -> None:
        self._database = database
        self._store = store
        self._sizes = sizes
        self._splitter = Splitter(sizes)
        self._contextual: Contextual | None = None
        if model is not None and answers is not None:
            self._contextual = Contextual(model, answers, at_once=calls_at_once)
        self._by_default = contextual
        self._shown_characters = shown_characters

    async def run(self, attempt: Attempt) -> Done:
        """Hand the document on with its number of chunks."""
        carried = Carried.from_json(attempt.input)
        account = _Account()
        try:
            await self._chunk(attempt, carried, account)
        except PhaseError as error:
            error.cost_usd += account.spent_usd
            raise
        if not account.chunks:
            raise EmptyText("the text holds nothing but white space, so there is nothing to search", error_code="EMPTY")
        chunked = carried.adding(*self._warnings(attempt.document, account), chunks=account.chunks)
        return Done(
            output=chunked.to_json(),
            save=_finish(attempt.job_id, account.chunks),
            cost_usd=account.spent_usd,
            metadata=chunked.kept_in(attempt.document.metadata),
        )

    def estimate_usd(self, attempt: Attempt) -> Decimal:
        """What the language model may cost at most for this document; nothing where none is asked."""
        contextual = self._contextual_for(attempt.document)
        if contextual is None:
            return Decimal(0)
        characters = max(1, Carried.from_json(attempt.input).characters)
        passage = CHARACTERS_PER_TOKEN * self._sizes.tokens
        step = CHARACTERS_PER_TOKEN * (self._sizes.tokens - self._sizes.overlap) // 2
        shown = min(characters, self._shown_characters + OPENING_CHARACTERS)
        return contextual.estimate_usd(-(-characters // step), passage, shown)

    async def _chunk(self, attempt: Attempt, carried: Carried, account: _Account) -> None:
        organisation = attempt.document.organisation
        contextual = self._contextual_for(attempt.document)
        made = make_chunks(self._store, organisation, carried, self._splitter)
        surroundings = self._surroundings(organisation, carried)
        size = BATCH if contextual is None else CONTEXTUAL_BATCH
        while batch := await asyncio.to_thread(_take, made, size):
            if contextual is not None:
                passages = await asyncio.to_thread(_passages, batch, surroundings)
                contexts = await contextual.situate(attempt, passages)
                account.spent_usd += contexts.cost_usd
                account.refused += contexts.refused
                batch = [chunk.situated(text) for chunk, text in zip(batch, contexts.texts, strict=True)]
            await self._write(attempt, batch)
            account.chunks += len(batch)
            attempt.progress(batch[-1].end / max(1, carried.characters))

    def _contextual_for(self, document: Document) -> Contextual | None:
        said = _said(document)
        return self._contextual if (self._by_default if said is None else said) else None

    def _warnings(self, document: Document, account: _Account) -> Iterator[Warning]:
        if account.refused:
            message = f"the language model refused to situate {account.refused} of {account.chunks} passages"
            yield Warning("CONTEXT_REFUSED", message)
        if self._contextual is not None and CONTEXTUAL in document.metadata and _said(document) is None:
            message = f"the metadata say {CONTEXTUAL} is {document.metadata[CONTEXTUAL]!r:.60}, neither yes nor no"
            yield Warning("CONTEXTUAL_UNCLEAR", f"{message}: done as for documents that do not say")

    def _surroundings(self, organisation: str, carried: Carried) -> Surroundings:
        blocks = () if carried.text is None else read_text(self._store, organisation, carried.text)
        return Surroundings(blocks, self._shown_characters)

    async def _write(self, attempt: Attempt, batch: Sequence[NewChunk]) -> None:
        body = await asyncio.to_thread(_body, batch)
        await insist(
            lambda: self._database.execute(
                "select holdfast.store_chunks($1, $2, $3::text::jsonb)", attempt.job_id, attempt.token, body
            )
        )


def _finish(generation_id: int, count: int) -> Save:
    async def save(connection: Connection) -> None:
        await connection.execute("select holdfast.finish_chunks($1, $2)", generation_id, count)

    return save


def _take(made: Iterator[NewChunk], size: int) -> list[NewChunk]:
    return list(islice(made, size))


def _passages(batch: Sequence[NewChunk], surroundings: Surroundings) -> list[Passage]:
    return [Passage(chunk.text, surroundings.around(chunk.start).shown) for chunk in batch]


def _body(batch: Sequence[NewChunk]) -> str:
    return strict_json.dump([chunk.to_json() for chunk in batch]).decode()


def _said(document: Document) -> bool | None:
    """Whether its metadata ask for context by the model, or None where they do not say, or not clearly."""
    return _SAID.get(str(document.metadata.get(CONTEXTUAL)).lower())
