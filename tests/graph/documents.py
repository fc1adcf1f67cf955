"""Documents with chunks, on their way through the two phases of the graph."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg

from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database
from holdfast.engine.pipeline import Phase, Pipeline
from holdfast.engine.queue import Queue, Submission, submit
from holdfast.engine.strict_json import load
from holdfast.engine.worker import Worker
from holdfast.graph.adding import AddToGraph
from holdfast.graph.contribution import Extractor
from holdfast.graph.extracting import ExtractGraph
from holdfast.standard import Carried
from tests.engine.working import QUICK

STORE_CHUNKS = """
insert into holdfast.chunk (generation_id, ordinal, organisation, id, start_at, end_at, text, text_hash, configuration,
                            words)
select $1, n - 1, 'acme', lpad(to_hex(n), 24, '0'), n * 1000, n * 1000 + 1, t, md5(t), 'english', ''
from unnest($2::text[]) with ordinality as c(t, n)
"""


@dataclass(frozen=True, slots=True)
class Desk:
    """A worker for documents whose chunks are stored already."""

    database: Database
    store: ArtifactStore
    extractor: Extractor

    @property
    def pipeline(self) -> Pipeline:
        extract = ExtractGraph(self.database, self.store, self.extractor)
        add = AddToGraph(self.database, self.store)
        return Pipeline(
            "test",
            phases=(
                Phase(name="graph_extract", handler=extract.run, done="graph_extracted", component="graph"),
                Phase(name="graph_add", handler=add.run, done="complete", component="graph"),
            ),
        )

    async def take_in(self, *texts: str) -> int:
        """A document with these chunks; gives back its job."""
        await Queue(self.database).register([self.pipeline])
        original = self.store.put_bytes("acme", "\n".join(texts).encode())
        carried = Carried(
            original=original, media_type="text/plain", name="a.txt", characters=sum(map(len, texts)), chunks=len(texts)
        )
        submission = Submission(organisation="acme", input=carried.to_json())
        (submitted,) = await submit(self.database, "test", [submission])
        await self.database.execute(STORE_CHUNKS, submitted.job_id, list(texts))
        return submitted.job_id

    async def work(self) -> None:
        await Worker(self.database, [self.pipeline], pace=QUICK).run(until_idle=True)

    async def job(self, job_id: int) -> asyncpg.Record:
        row = await self.database.fetchrow("select * from holdfast.pipeline_job where id = $1", job_id)
        assert row is not None
        return row

    async def carried(self, job_id: int, phase: str = "graph_extract") -> Carried:
        """What a phase handed on."""
        sql = "select output from holdfast.pipeline_phase where job_id = $1 and phase = $2 and outcome = 'completed'"
        return Carried.from_json(await self.database.fetchval(sql, job_id, phase))

    async def findings(self, job_id: int) -> list[Any]:
        """The lines of the stored result."""
        carried = await self.carried(job_id)
        assert carried.graph is not None
        return [load(line) for line in self.store.read("acme", carried.graph).splitlines()]

    async def ordinals(self) -> Sequence[int]:
        """Which chunks the graph knows."""
        rows = await self.database.fetch("select distinct ordinal from holdfast.entity_mention order by 1")
        return [row["ordinal"] for row in rows]
