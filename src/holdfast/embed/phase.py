"""The embed phase: every passage of a document gets its vector, and none is paid for twice."""

from dataclasses import dataclass
from decimal import Decimal
from functools import partial

import asyncpg

from holdfast.db.connection import Connection, Database
from holdfast.embed.batches import Batch, batches, for_each, window_size
from holdfast.embed.vectors import Model, build_index, call_with_vectors, embed_checked, register
from holdfast.engine import events
from holdfast.engine.attempt import Attempt
from holdfast.engine.patience import insist
from holdfast.engine.pipeline import Done, GiveBack
from holdfast.errors import DatabaseUnavailable, DatabaseUnusable, PhaseError
from holdfast.providers.embedder import Embedder
from holdfast.standard import Carried

# So many vectors may come before it is looked again whether their model needs an index.
LOOK_AFTER = 1_000
# A worker with the right model has to be started first; each look that comes too early is an attempt on record.
WAIT_SECONDS = 300.0


class Embed:
    """Embeds what has no vector of this embedder yet, writing each batch as it comes: a crash loses one at most."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder
        self._model: Model | None = None
        self._unseen = LOOK_AFTER

    async def run(self, attempt: Attempt) -> Done | GiveBack:
        """Handle one attempt; give it back where another model answers searches. What was spent is always named."""
        carried = Carried.from_json(attempt.input)
        model = await self._registered()
        if not model.takes_vectors:
            return self._give_back(model)
        work = _Work(attempt, model)
        try:
            await self._embed_all(work, carried.chunks)
            if not work.stored:
                await self._refuse_replaced()
        except _Replaced as replaced:
            return self._give_back(replaced.model, work.spent_usd)
        except PhaseError as error:
            error.cost_usd += work.spent_usd
            raise
        await self._look_for_index(model)

        async def save(connection: Connection) -> None:
            try:
                await connection.execute("select holdfast.finish_embedding($1, $2)", attempt.job_id, model.id)
            except Exception:
                self._model = None
                raise

        return Done(carried.to_json(), save=save, cost_usd=work.spent_usd)

    async def _registered(self) -> Model:
        """Asked once, and again after it was refused; before something is paid for, each time."""
        if self._model is None or self._embedder.paid:
            model = await insist(lambda: register(self._database, self._embedder))
            self._model = model if model.takes_vectors else None
            return model
        return self._model

    async def _refuse_replaced(self) -> None:
        """Raise if the model takes no vectors by now: whoever has not stored any has not been told."""
        self._model = None
        model = await self._registered()
        if not model.takes_vectors:
            raise _Replaced(model)

    def _give_back(self, model: Model, spent_usd: Decimal = Decimal(0)) -> GiveBack:
        name = self._embedder.name
        if model.active_name == name:
            reason = f'model "{name}" is being replaced by another: start workers with that one'
        else:
            reason = (
                f'searches are answered by model "{model.active_name}", this worker embeds with "{name}": set the '
                f"worker's model to the first and restart it, or run `holdfast reindex --model {name}`"
            )
        return GiveBack(reason, wait_seconds=WAIT_SECONDS, needs_someone=True, cost_usd=spent_usd)

    async def _look_for_index(self, model: Model) -> None:
        """Look the first time, then once in a while, whether the model needs its index by now.

        Also within a document: over all the vectors of a large one, building it would take longer than anyone waits.
        """
        if self._unseen >= LOOK_AFTER:
            self._unseen = 0
            try:
                await build_index(self._database, model)
            except (DatabaseUnavailable, DatabaseUnusable) as error:
                # The vectors are stored and paid for; without the index they are found more slowly.
                events.index_not_built(error)

    async def _embed_all(self, work: "_Work", count: int) -> None:
        window = window_size(self._embedder.best_batch)
        for start in range(0, count, window):
            passages = await self._take(work, start, start + window)
            found = batches(passages, self._embedder.best_batch)
            await for_each(found, partial(self._embed_batch, work), side_by_side=not self._embedder.paid)
            await self._look_for_index(work.model)
            work.attempt.progress((start + window) / count)

    async def _take(self, work: "_Work", start: int, end: int) -> list[asyncpg.Record]:
        handle = (work.attempt.job_id, work.attempt.token)
        sql = "select ordinal, text_hash, passage from holdfast.take_for_embedding($1, $2, $3, $4, $5)"
        return await insist(lambda: self._database.fetch(sql, *handle, work.model.id, start, end))

    async def _embed_batch(self, work: "_Work", batch: Batch) -> None:
        embedded = await embed_checked(self._embedder, batch.texts)
        work.spent_usd += embedded.cost_usd
        self._unseen += len(batch.passages)
        taken = await insist(
            lambda: call_with_vectors(
                self._database,
                "select holdfast.store_embeddings($1, $2, $3, $4, $5, holdfast.vectors($6))",
                *(work.attempt.job_id, work.attempt.token, work.model.id),
                *(batch.column("ordinal"), batch.column("text_hash")),
                model=work.model,
                vectors=embedded.vectors[batch.rows],
            )
        )
        if not taken:
            self._model = None
            raise _Replaced(await insist(lambda: register(self._database, self._embedder)))
        work.stored = True


@dataclass(slots=True)
class _Work:
    """What an attempt has come to so far."""

    attempt: Attempt
    model: Model
    spent_usd: Decimal = Decimal(0)
    stored: bool = False


class _Replaced(Exception):
    """The model takes no more vectors; carries how it stands now."""

    def __init__(self, model: Model) -> None:
        super().__init__(model.active_name)
        self.model = model
