"""Documents that stand before chunking, and the phase at work on them."""

import json
from collections.abc import Iterable
from typing import Any

import asyncpg

from holdfast.artifacts.store import ArtifactStore
from holdfast.chunk.phase import Chunk
from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done
from holdfast.standard import Carried, Span
from tests.engine.scenario import Scenario, begin, plain


def carried(
    store: ArtifactStore, text: str, spans: Iterable[Span] = (), *, organisation: str = "acme", **facts: Any
) -> Carried:
    """A document that was extracted and validated."""
    return Carried(
        original=store.put_bytes(organisation, b"original of " + text.encode()),
        media_type="text/markdown",
        name="handbook.md",
        text=store.put_bytes(organisation, text.encode()),
        spans=store.put_bytes(organisation, json.dumps([span.to_json() for span in spans]).encode()),
        characters=len(text),
    ).adding(**facts)


async def claimed(
    database: Database, document: Carried, *, organisation: str = "acme", **facts: Any
) -> tuple[Scenario, Attempt]:
    """That document's job, claimed for chunking."""
    scenario = await begin(database, plain("chunk", "embed"))
    await scenario.submit_one(organisation=organisation, input=document.to_json(), **facts)
    return scenario, await scenario.claim_one("chunk")


async def settled(scenario: Scenario, attempt: Attempt, done: Done) -> None:
    """End the attempt as a worker does."""
    async with scenario.database.transaction() as connection:
        await scenario.queue.settle([(attempt, done)], connection)
        assert done.save is not None
        await done.save(connection)


async def chunk(database: Database, phase: Chunk, document: Carried, **facts: Any) -> list[asyncpg.Record]:
    """Take the document through the phase and give back its chunks."""
    scenario, attempt = await claimed(database, document, **facts)
    await settled(scenario, attempt, await phase.run(attempt))
    return await chunks_of(database, attempt.document.id)


async def chunks_of(database: Database, document_id: int) -> list[asyncpg.Record]:
    return await database.fetch(
        "select * from holdfast.chunk where generation_id = holdfast.generation_of($1) order by ordinal", document_id
    )
