"""Replaces the model that answers searches, while the old one answers them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

import asyncpg

from holdfast.db.connection import Database
from holdfast.embed.batches import Batch, batches, for_each, window_size
from holdfast.embed.vectors import Model, build_index, call_with_vectors, embed_checked, register
from holdfast.engine.patience import insist
from holdfast.errors import PhaseError
from holdfast.providers.embedder import Embedder

REMOVED_AT_ONCE = 5_000
LOOKED_AT_ONCE = 20_000

Place = tuple[int, int]
"""A document and the ordinal of its passage."""


@dataclass(slots=True)
class Reindexed:
    """What was done so far: passages embedded, those that got the vector of an equal text, and what it cost."""

    embedded: int = 0
    reused: int = 0
    cost_usd: Decimal = field(default=Decimal(0))
    active: bool = False


OnProgress = Callable[[Reindexed], None]


async def reindex(
    database: Database,
    embedder: Embedder,
    *,
    organisation: str | None = None,
    on_progress: OnProgress = lambda _: None,
) -> Reindexed:
    """Embed every passage that may be searched with this embedder, then let it answer instead of the old one.

    Can be stopped at any time and goes on where it was. A searchable document never lacks a vector of the model that
    answers. While the last passages are filled, workers that embed with the old model are refused; they must be given
    the new one. With an organisation only its passages are embedded, and the old model goes on answering.
    """
    filling = _Filling(database, embedder, await register(database, embedder), organisation, on_progress)
    await filling.fill()
    await build_index(database, filling.model)
    if organisation is not None:
        return filling.done
    if not await filling.activate(since=await filling.fill()):
        await database.execute("select holdfast.close_embedder()")
        # Nothing more is written with the old model, so that this comes to an end.
        while not await filling.activate(since=await filling.fill()):
            pass
    return filling.done


async def remove_replaced(database: Database, *, on_progress: Callable[[int], None] = lambda _: None) -> int:
    """Remove the vectors of all models that answer no searches, and say how many there were.

    Those of a reindexing that went on in the last 30 days stay: it would pay for them again.
    """
    removed = 0
    while count := await database.fetchval("select holdfast.remove_inactive_vectors($1)", REMOVED_AT_ONCE):
        removed += count
        on_progress(removed)
    return removed


@dataclass(frozen=True, slots=True)
class _Filling:
    """The passages that lack a vector, worked off in the order of their documents."""

    database: Database
    embedder: Embedder
    model: Model
    organisation: str | None
    on_progress: OnProgress
    done: Reindexed = field(default_factory=Reindexed)

    async def fill(self) -> datetime:
        """Look at every passage, in steps that cost the same however much is done; says since when."""
        since: datetime = await self.database.fetchval("select holdfast.clock()")
        place: Place = (0, -1)
        while last := await self._next(place):
            await self._fill_up_to(last, after=place)
            place = last
        return since

    async def _fill_up_to(self, last: Place, *, after: Place) -> None:
        while passages := await self._take(after, last):
            after = (passages[-1]["generation_id"], passages[-1]["ordinal"])
            lacking = [passage for passage in passages if not passage["reused"]]
            self.done.reused += len(passages) - len(lacking)
            found = batches(lacking, self.embedder.best_batch)
            await for_each(found, self._fill_batch, side_by_side=not self.embedder.paid)
            # It grows with the vectors: over all of them, building it would take longer than anyone waits.
            await build_index(self.database, self.model)
            self.on_progress(self.done)

    async def activate(self, *, since: datetime) -> bool:
        sql = "select holdfast.activate_embedder($1, $2)"
        self.done.active = await self.database.fetchval(sql, self.model.id, since)
        return self.done.active

    async def _next(self, after: Place) -> Place | None:
        sql = "select * from holdfast.next_place($1, $2, $3)"
        row = await insist(lambda: self.database.fetchrow(sql, *after, LOOKED_AT_ONCE))
        return None if row is None else (row["generation_id"], row["ordinal"])

    async def _take(self, after: Place, last: Place) -> list[asyncpg.Record]:
        sql = "select * from holdfast.take_for_reindexing($1, $2, $3, $4, $5, $6, $7)"
        limit = window_size(self.embedder.best_batch)
        return await insist(lambda: self.database.fetch(sql, self.model.id, self.organisation, *after, *last, limit))

    async def _fill_batch(self, batch: Batch) -> None:
        try:
            embedded = await embed_checked(self.embedder, batch.texts)
        except PhaseError as error:
            await self._charge_failed(batch, error.cost_usd)
            error.cost_usd += self.done.cost_usd
            raise
        self.done.cost_usd += embedded.cost_usd
        await insist(
            lambda: call_with_vectors(
                self.database,
                "select holdfast.store_reindexed($1, $2, $3, $4, $5, holdfast.vectors($6))",
                *(self.model.id, batch.column("generation_id"), batch.column("ordinal"), batch.column("text_hash")),
                embedded.cost_usd,
                model=self.model,
                vectors=embedded.vectors[batch.rows],
            )
        )
        self.done.embedded += len(batch.passages)

    async def _charge_failed(self, batch: Batch, cost_usd: Decimal) -> None:
        sql = "select holdfast.charge_reindexed($1, $2, $3, $3)"
        await insist(lambda: self.database.execute(sql, self.model.id, batch.column("generation_id"), cost_usd))
