"""The phase that reads a document's chunks for entities and relations, and stores what it found."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import BinaryIO

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.store import ArtifactStore
from holdfast.artifacts.upload import Upload
from holdfast.db.connection import Connection, Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.patience import insist
from holdfast.engine.pipeline import Done, Save
from holdfast.engine.strict_json import dump
from holdfast.errors import PhaseError
from holdfast.graph.contribution import Extractor, Findings, Passage
from holdfast.standard import Carried, Warning

PAGE = 200
# Chunks repeat some of each other: all together they are longer than their text, by half at most.
OVERLAP = 1.5
CHUNKS = """
select ordinal, text from holdfast.chunk where generation_id = $1 and ordinal >= $2 order by ordinal limit $3
"""


class ExtractGraph:
    """Hands on where the findings are; nothing of them is in the graph yet. Memory does not grow with the document."""

    def __init__(self, database: Database, store: ArtifactStore, extractor: Extractor) -> None:
        self._database = database
        self._store = store
        self._extractor = extractor

    async def run(self, attempt: Attempt) -> Done:
        """Safe to repeat: what a model answered is remembered, and the same findings are the same artifact."""
        carried = Carried.from_json(attempt.input)
        account = _Account()
        with tempfile.TemporaryDirectory(prefix="holdfast-graph-") as folder:
            path = Path(folder) / "findings"
            try:
                await self._write(attempt, carried, path, account)
            except PhaseError as error:
                error.cost_usd += account.spent_usd
                raise
            async with Upload(self._database, self._store, attempt.document.organisation) as upload:
                artifact = await upload.put_file(path)
        found = carried.adding(*account.warnings(), graph=artifact)
        return Done(
            found.to_json(),
            save=_use(attempt, upload, artifact),
            cost_usd=account.spent_usd,
            metadata=found.kept_in(attempt.document.metadata),
        )

    def estimate_usd(self, attempt: Attempt) -> Decimal:
        """What the extractor may cost at most for this document."""
        carried = Carried.from_json(attempt.input)
        return self._extractor.estimate_usd(carried.chunks, int(carried.characters * OVERLAP))

    async def _write(self, attempt: Attempt, carried: Carried, path: Path, account: "_Account") -> None:
        with path.open("wb") as file:
            async for page in self._pages(attempt.job_id):
                findings = await self._extractor.find(attempt, page)
                account.add(findings)
                await asyncio.to_thread(_append, file, findings)
                attempt.progress((page[-1].ordinal + 1) / max(carried.chunks, 1))

    async def _pages(self, generation_id: int) -> AsyncIterator[list[Passage]]:
        first = 0
        while rows := await insist(partial(self._database.fetch, CHUNKS, generation_id, first, PAGE)):
            yield [Passage(*row) for row in rows]
            first = rows[-1]["ordinal"] + 1


@dataclass(slots=True)
class _Account:
    """What one run spent, and what its owner should know."""

    spent_usd: Decimal = Decimal(0)
    dropped: int = 0
    refused: int = 0

    def add(self, findings: Findings) -> None:
        self.spent_usd += findings.cost_usd
        self.dropped += findings.dropped
        self.refused += findings.refused

    def warnings(self) -> Iterator[Warning]:
        if self.dropped:
            text = f"{self.dropped} things that the model named do not stand in the text and were left out of the graph"
            yield Warning("GRAPH_FINDINGS_DROPPED", text)
        if self.refused:
            text = f"{self.refused} passages that the model refused to read added nothing to the graph"
            yield Warning("GRAPH_REFUSED", text)


def _append(file: BinaryIO, findings: Findings) -> None:
    file.writelines(dump(one.to_json()) + b"\n" for one in findings.contributions)


def _use(attempt: Attempt, upload: Upload, artifact: Artifact) -> Save:
    async def save(connection: Connection) -> None:
        await upload.use(connection, attempt.document.id, {"graph": artifact})

    return save
