"""The embed phase: every passage of a document gets its vector, and none is paid for twice."""

import asyncio
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from holdfast.db.connection import Connection, Database
from holdfast.embed.batches import Batch, batches, window_size
from holdfast.embed.vectors import Model, build_index, call_with_vectors, embed_checked, register
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done
from holdfast.errors import PhaseError, StorageUnavailable
from holdfast.providers.embedder import Embedder
from holdfast.standard import Carried

if TYPE_CHECKING:
    from holdfast.providers.embedder import Vectors


class Embed:
    """Embeds what has no vector of this embedder yet, writing each batch as it comes: a crash loses one at most."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder

    async def run(self, attempt: Attempt) -> Done:
        """Handle one attempt. What was spent before a failure is named by its error."""
        carried = Carried.from_json(attempt.input)
        model = await register(self._database, self._embedder)
        self._check_active(model)
        work = _Work(attempt, model)
        try:
            await self._embed_all(work, carried.chunks)
        except PhaseError as error:
            error.cost_usd += work.spent_usd
            raise
        finally:
            await work.abandon()
        await build_index(self._database, model)

        async def save(connection: Connection) -> None:
            await connection.execute("select holdfast.finish_embedding($1, $2)", attempt.document.id, model.id)

        return Done(carried.to_json(), save=save, cost_usd=work.spent_usd)

    def _check_active(self, model: Model) -> None:
        if not model.takes_vectors:
            name = self._embedder.name
            raise StorageUnavailable(
                f'searches are answered by model "{model.active_name}", this worker embeds with "{name}": '
                f"run `holdfast reindex --model {name}`, or set the worker's model to the other and restart it",
                error_code="EMBEDDER_NOT_ACTIVE",
            )

    async def _embed_all(self, work: "_Work", count: int) -> None:
        window = window_size(self._embedder.best_batch)
        for start in range(0, count, window):
            passages = await self._database.fetch(
                "select ordinal, text_hash, passage from holdfast.take_for_embedding($1, $2, $3, $4, $5)",
                *(work.attempt.job_id, work.attempt.token, work.model.id, start, start + window),
            )
            for batch in batches(passages, self._embedder.best_batch):
                await self._embed_batch(work, batch)
            work.attempt.progress((start + window) / count)
        await work.written()

    async def _embed_batch(self, work: "_Work", batch: Batch) -> None:
        embedded = await embed_checked(self._embedder, batch.texts)
        work.spent_usd += embedded.cost_usd
        await work.written()
        work.write = asyncio.create_task(self._write(work, batch, embedded.vectors))
        if self._embedder.paid:
            # What is paid for is safe before more is bought; what is free is computed while the last is written.
            await work.written()

    async def _write(self, work: "_Work", batch: Batch, vectors: "Vectors") -> None:
        async with self._database.transaction() as connection:
            taken = await call_with_vectors(
                connection,
                f"select holdfast.store_embeddings($1, $2, $3, $4, $5, $6::{work.model.vector_type}[])",
                *(work.attempt.job_id, work.attempt.token, work.model.id),
                *(batch.column("ordinal"), batch.column("text_hash")),
                model=work.model,
                vectors=vectors[batch.rows],
            )
        if not taken:
            raise StorageUnavailable(
                f'model "{self._embedder.name}" is being replaced by another: the document goes on with that one',
                error_code="EMBEDDER_NOT_ACTIVE",
            )


@dataclass(slots=True)
class _Work:
    """What an attempt has spent so far, and the write that is on its way."""

    attempt: Attempt
    model: Model
    spent_usd: Decimal = Decimal(0)
    write: asyncio.Task[None] | None = field(default=None, init=False)

    async def written(self) -> None:
        """Wait for the write on its way, and fail as it fails."""
        write, self.write = self.write, None
        if write is not None:
            await write

    async def abandon(self) -> None:
        """End a write that nobody will wait for any more."""
        if self.write is not None:
            self.write.cancel()
            await asyncio.gather(self.write, return_exceptions=True)
