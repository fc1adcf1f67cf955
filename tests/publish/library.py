"""Documents at their locations in a test: taken in, finished in any order, looked at."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Connection, Database
from holdfast.engine.attempt import Attempt, Json
from holdfast.engine.patience import insist
from holdfast.engine.pipeline import Done
from holdfast.engine.queue import Submission, submit
from holdfast.errors import CorruptInput
from tests.artifacts.test_uses import use
from tests.engine.scenario import Scenario, begin, plain

PIPELINE = plain("publish")
NOTHING: Mapping[str, Json] = {}

SEARCHABLE = """
select d.id, d.source_location, d.content_hash, d.parent_id
from holdfast.document d
where holdfast.is_shown(d)
order by d.id
"""
CHUNK = """
insert into holdfast.chunk
    (generation_id, ordinal, organisation, id, start_at, end_at, text, text_hash, configuration, words)
select holdfast.generation_of($1), n, 'acme', lpad(n::text, 24, '0'), n, n + 1, 'text', 'hash', 'simple', ''
from generate_series(1, $2) as n
"""


def hash_of(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


@dataclass(slots=True)
class Library:
    """One organisation's documents. Content is a word; `names` remembers which hash it has."""

    scenario: Scenario
    claimed: dict[int, Attempt] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> Database:
        return self.scenario.database

    async def take_in(
        self,
        content: str,
        location: str | None = None,
        *,
        parent: int | None = None,
        said: Mapping[str, Json] = NOTHING,
    ) -> int:
        """As intake does it: a copy of known content is published at once. Gives the document's id."""
        self.names[hash_of(content)] = content
        item = Submission(
            organisation="acme",
            source_name=f"{content} at {location}",
            source_platform="folder",
            source_location=location,
            content_hash=hash_of(content),
            metadata={"at": location, **said},
            parent_id=parent,
        )
        async with self.database.transaction() as connection:
            (made,) = await submit(connection, self.scenario.pipeline, [item])
            if made.result == "duplicate":
                await connection.execute("select holdfast.publish_document($1)", made.document_id)
        return made.document_id

    async def finish(self, document_id: int, *, found_out: Mapping[str, Json] | None = None) -> None:
        """Carry the document through its last phase, as a worker does."""
        if document_id not in self.claimed:
            attempts = await self.scenario.claim("publish", 1000)
            self.claimed |= {attempt.document.id: attempt for attempt in attempts}
        attempt = self.claimed.pop(document_id)

        async def switch(connection: Connection) -> None:
            await connection.execute("select holdfast.publish_document($1)", document_id)

        await insist(lambda: self._settle(attempt, Done(save=switch, metadata=found_out)))

    async def fail(self, document_id: int) -> None:
        """Let the document's last phase find that it can never be read."""
        if document_id not in self.claimed:
            attempts = await self.scenario.claim("publish", 1000)
            self.claimed |= {attempt.document.id: attempt for attempt in attempts}
        await self.scenario.fail([self.claimed.pop(document_id)], CorruptInput("unreadable"))

    async def job(self, document_id: int) -> int:
        """The document's newest job."""
        job: int = await self.database.fetchval(
            "select max(id) from holdfast.pipeline_job where document_id = $1", document_id
        )
        return job

    async def _settle(self, attempt: Attempt, done: Done) -> None:
        async with self.database.transaction() as connection:
            results = await self.scenario.queue.settle([(attempt, done)], connection)
            if results[attempt.job_id, attempt.token] == "settled":
                assert done.save is not None
                await done.save(connection)

    async def add(self, content: str, location: str | None = None, *, parent: int | None = None) -> int:
        """Take in new content and finish it."""
        document_id = await self.take_in(content, location, parent=parent)
        await self.finish(document_id)
        return document_id

    async def answers(self) -> list[tuple[str, str | None]]:
        """What a search finds: content and location, in alphabetical order."""
        rows = await self.database.fetch(SEARCHABLE)
        found = [(self.names[row["content_hash"]], row["source_location"]) for row in rows]
        return sorted(found, key=lambda pair: (pair[0], pair[1] or ""))

    async def document(self, document_id: int) -> dict[str, object]:
        return dict(await self.scenario.document(document_id))


async def open_library(database: Database) -> Library:
    return Library(await begin(database, PIPELINE))


async def keep(library: Library, store: ArtifactStore, document: int, **kinds: bytes) -> dict[str, Artifact]:
    kept = {kind: store.put_bytes("acme", data) for kind, data in kinds.items()}
    await use(library.database, document, **kept)
    return kept
