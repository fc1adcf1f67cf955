"""The phase that adds what was found in a document to the graph."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial
from itertools import islice

from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.patience import insist
from holdfast.engine.pipeline import Done
from holdfast.errors import CorruptInput
from holdfast.standard import Carried

BATCH = 200
REMOVED_AT_ONCE = 2_000
BEGIN = "select holdfast.begin_graph($1, $2, $3)"
ADD = "select holdfast.add_to_graph($1, $2, $3::text::jsonb)"


class AddToGraph:
    """Adds in batches, each a short transaction. The document is not searchable yet, so nobody sees half of it."""

    def __init__(self, database: Database, store: ArtifactStore) -> None:
        self._database = database
        self._store = store

    async def run(self, attempt: Attempt) -> Done:
        """Safe to repeat: what an earlier run added for the document is taken back first."""
        carried = Carried.from_json(attempt.input)
        if carried.graph is None:
            raise CorruptInput("graph_extract handed nothing on: reset the job, so that it runs again")
        job = (attempt.job_id, attempt.token)
        while await insist(partial(self._database.fetchval, BEGIN, *job, REMOVED_AT_ONCE)):
            pass
        added = 0
        async for batch in self._batches(attempt.document.organisation, carried):
            items = f"[{','.join(batch)}]"
            await insist(partial(self._database.execute, ADD, *job, items))
            added += len(batch)
            attempt.progress(added / max(carried.chunks, 1))
        return Done(carried.to_json())

    async def _batches(self, organisation: str, carried: Carried) -> AsyncIterator[list[str]]:
        assert carried.graph is not None
        lines = _lines(self._store.stream(organisation, carried.graph))
        while batch := await asyncio.to_thread(lambda: list(islice(lines, BATCH))):
            yield batch


def _lines(chunks: Iterator[bytes]) -> Iterator[str]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.decode() for line in lines if line)
    if rest:
        yield rest.decode()
