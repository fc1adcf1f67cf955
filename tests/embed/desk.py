"""One document at the embed phase: claimed, embedded and settled as a worker would do it."""

from dataclasses import dataclass
from typing import Any

from holdfast.artifacts.artifact import Artifact
from holdfast.db.connection import Database
from holdfast.embed.phase import Embed
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, GiveBack
from holdfast.providers.embedder import Embedder
from holdfast.standard import Carried
from tests.engine.scenario import Scenario, begin, plain
from tests.search.library import Library


@dataclass(frozen=True, slots=True)
class Desk:
    """Where documents come in with their passages and are embedded."""

    scenario: Scenario
    library: Library

    async def take_in(self, *passages: str, organisation: str = "acme") -> Attempt:
        """A document with these passages, claimed for its embed phase."""
        original = Artifact("0" * 64, 1)
        carried = Carried(original=original, media_type="text/plain", name="notes.txt", chunks=len(passages))
        submitted = await self.scenario.submit_one(organisation=organisation, input=carried.to_json())
        for ordinal, text in enumerate(passages):
            await self.library.put(submitted.document_id, ordinal, text, generation_id=submitted.job_id)
        return await self.scenario.claim_one("embed")

    async def embed(self, attempt: Attempt, embedder: Embedder) -> Done:
        """Run the phase and settle it."""
        done = await self.run(attempt, embedder)
        await self.settle(attempt, done)
        return done

    async def run(self, attempt: Attempt, embedder: Embedder) -> Done:
        """Run the phase to its success."""
        done = await Embed(self.library.database, embedder).run(attempt)
        assert isinstance(done, Done)
        return done

    async def refuse(self, attempt: Attempt, phase: Embed) -> GiveBack:
        """Run the phase, which must not go on here, and give the attempt back."""
        given_back = await phase.run(attempt)
        assert isinstance(given_back, GiveBack)
        await self.scenario.queue.give_back([(attempt, given_back)])
        return given_back

    async def next(self, attempt: Attempt) -> str:
        """What people are told of the job."""
        sql = "select holdfast.overview_next(j) from holdfast.pipeline_job j where id = $1"
        return str(await self.fetchval(sql, attempt.job_id))

    async def settle(self, attempt: Attempt, done: Done) -> None:
        async with self.library.database.transaction() as connection:
            assert done.save is not None
            await done.save(connection)
        await self.scenario.settle([attempt], done)

    async def hashes(self, document_id: int, model: str = "light-256") -> list[str]:
        """Of which texts the document has vectors, in order."""
        rows = await self.library.database.fetch(
            """
            select e.text_hash
            from holdfast.embedding e
            join holdfast.embedder m on m.id = e.embedder_id
            where e.generation_id = holdfast.generation_of($1) and m.name = $2
            order by e.ordinal
            """,
            document_id,
            model,
        )
        return [row["text_hash"] for row in rows]

    async def fetchval(self, sql: str, *arguments: Any) -> Any:
        return await self.library.database.fetchval(sql, *arguments)


async def open_desk(database: Database) -> Desk:
    # Documents of the library have generations without jobs, named as they are.
    await database.execute("select setval(pg_get_serial_sequence('holdfast.pipeline_job', 'id'), 1000)")
    return Desk(await begin(database, plain("embed", "publish")), Library(database))
