"""Puts the parts together: the only place that knows every concrete class."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from holdfast.access.keys import Keys
from holdfast.artifacts.checks import artifact_findings, missing_artifacts
from holdfast.artifacts.document_file import DocumentFile, file_of
from holdfast.artifacts.ownership import ownership_findings
from holdfast.artifacts.retention import remove_unused
from holdfast.configs.questions import Configs
from holdfast.db.connection import COMMAND_SECONDS, Database, connect
from holdfast.db.pgvector import describe_pgvector
from holdfast.embed.reindex import Reindexed, reindex, remove_replaced
from holdfast.engine import events
from holdfast.engine.answer import Answer, deliver
from holdfast.engine.control import Control
from holdfast.engine.doctor import Finding, Repair, examine, journal_findings, record_journal, repair
from holdfast.engine.lifeline import Pace
from holdfast.engine.overview import Overview
from holdfast.engine.pipeline import Pipeline
from holdfast.engine.queue import Queue
from holdfast.engine.slots import Slots
from holdfast.engine.snapshots import old_snapshots
from holdfast.engine.worker import Worker
from holdfast.errors import DatabaseUnusable, PhaseError
from holdfast.graph.neighbourhood import Spoken, neighbourhood
from holdfast.intake.intake import Intake
from holdfast.intake.repetition import Earlier, submission_under
from holdfast.loading import load_pipelines, unique
from holdfast.notices.delivery import Outcome
from holdfast.notices.incidents import Incidents
from holdfast.notices.receivers import Receivers
from holdfast.providers.answers import remove_old_answers
from holdfast.providers.pricing import assumptions
from holdfast.publish.removal import Receipt, delete_document, purge_superseded, remove_retired_generations
from holdfast.readings.reading import Reading, reading_of
from holdfast.sandbox.protection import describe_gaps
from holdfast.schema import make_ready
from holdfast.search.hit import Hit
from holdfast.search.knowledge import Knowledge, knowledge_of, warnings_of
from holdfast.search.passages import Passage, passages_of
from holdfast.search.search import Search
from holdfast.settings import Settings
from holdfast.stories.reading import EntityCount, StoredStory, story_entities, story_of
from holdfast.takeover.desk import Desk, takeovers
from holdfast.tracing import collector

if TYPE_CHECKING:
    from holdfast.assembly import Assembly

# A worker claims, renews, sweeps and settles at the same time: on one connection a long statement would cost its lease.
FEWEST_WORKER_CONNECTIONS = 2
CLEAN_SECONDS = 3600.0


@dataclass(frozen=True)
class App:
    """Holdfast, connected to a migrated database."""

    settings: Settings
    database: Database
    resources: AsyncExitStack

    @cached_property
    def assembly(self) -> "Assembly":
        """The tools of the phases."""
        # Imported late: whoever only looks need not wait until every reader and provider is loaded.
        from holdfast.assembly import Assembly

        return Assembly(self.settings, self.database, self.resources)

    def confined_to(self, organisation: str) -> "App":
        """Holdfast as one organisation sees it, with the same tools."""
        database = self.database.confined_to(organisation)
        confined = replace(self, database=database)
        confined.__dict__["assembly"] = self.assembly.with_database(database)
        return confined

    @property
    def keys(self) -> Keys:
        """The keys that let callers in."""
        return Keys(self.database)

    @property
    def webhooks(self) -> Receivers:
        """Who is told of what happens."""
        return Receivers(self.database)

    @property
    def incidents(self) -> Incidents:
        """The alerts that are on, and those that were."""
        return Incidents(self.database)

    async def ping(self, receiver_id: int, *, actor: str) -> Outcome:
        """Try a receiver out, now, and say how that ended. Audited under this name."""
        return await self.assembly.deliverer.deliver(await self.webhooks.make_ping(receiver_id, actor=actor))

    async def keep_telling(self) -> None:
        """Tell receivers what happens, and watch for alerts, until cancelled. Any number of processes may do so."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.assembly.deliverer.run())
            group.create_task(self.incidents.keep_checking(mail_to=self.settings.alert_mail_to))

    @cached_property
    def pipelines(self) -> tuple[Pipeline, ...]:
        """The built-in pipelines and those that the settings name."""
        # A phase that has paid for what it wants to store waits for a connection instead of paying again.
        built_in = self.assembly.with_database(self.database.patient).pipelines()
        return unique((*built_in, *load_pipelines(self.settings.pipelines, self)))

    @property
    def search(self) -> Search:
        """What finds passages."""
        return Search(self.database, self.assembly.embedder)

    def intake(self, pipeline: str) -> Intake:
        """The way of documents into a pipeline. Raises InvalidInput where a built-in one lacks its settings."""
        return self.assembly.intake(pipeline)

    async def begin_reading(self) -> int:
        """A number for what begins to be read now: at one location, what began to be read last is the newest."""
        number: int = await self.database.fetchval("select holdfast.begin_reading()")
        return number

    async def earlier(self, organisation: str, key: str) -> Earlier | None:
        """What an organisation sent under this idempotency key before."""
        return await submission_under(self.database, organisation, key)

    async def story(self, document_id: int) -> StoredStory:
        """What was told of an article."""
        return await story_of(self.database, document_id)

    async def story_entities(self, organisation: str, *, limit: int = 20) -> list[EntityCount]:
        """What an organisation's stories speak of most."""
        return await story_entities(self.database, organisation, limit=limit)

    async def reading(self, document_id: int) -> Reading:
        """The text generated from a prompt."""
        return await reading_of(self.database, document_id)

    async def neighbourhood(self, organisation: str, hits: Iterable[Hit]) -> list[Spoken]:
        """What passages that were found speak of, and what that stands next to."""
        return await neighbourhood(self.database, organisation, [(hit.document_id, hit.ordinal) for hit in hits])

    async def passages(self, document_id: int, *, first: int = 0, limit: int = 20) -> list[Passage]:
        """A document as it was chunked, from one passage on."""
        return await passages_of(self.database, document_id, first=first, limit=limit)

    async def original(self, document_id: int) -> DocumentFile:
        """A document as it came in. Raises NotFound when it is not there, or not fetched yet."""
        return await file_of(self.database, self.assembly.store, document_id, "original")

    async def text(self, document_id: int) -> DocumentFile:
        """What was extracted from a document, as UTF-8. Raises NotFound when it is not there, or not extracted yet."""
        return await file_of(self.database, self.assembly.store, document_id, "text")

    async def knowledge(self, document_ids: list[int]) -> Knowledge:
        """How much is known from these documents."""
        return await knowledge_of(self.database, document_ids)

    async def warnings(self, document_ids: list[int]) -> list[dict[str, object]]:
        """What the owners of these documents should know."""
        return await warnings_of(self.database, document_ids)

    @property
    def doubts(self) -> list[str]:
        """What an operator should know about the settings."""
        return [*map(str, assumptions(self.settings)), *collector.doubts()]

    @property
    def seen_sandbox_gaps(self) -> list[str]:
        """What protection this machine lacks, as far as a file was read since this was opened."""
        granted = self.assembly.children.granted
        return [] if granted is None else describe_gaps(granted)

    async def sandbox_gaps(self) -> list[str]:
        """What protection this machine lacks against malicious files. Starts a child process to find out."""
        try:
            return describe_gaps(await self.assembly.children.describe_isolation())
        except PhaseError as error:
            return [f"no file can be read on this machine: {error}"]

    async def report_sandbox_gaps(self) -> None:
        """Log once what protection this machine lacks."""
        for gaps in await self.sandbox_gaps():
            events.sandbox_has_gaps(gaps)

    @property
    def configs(self) -> Configs:
        """What configuration archives hold."""
        return Configs(self.database)

    @property
    def overview(self) -> Overview:
        """Every read-only question."""
        return Overview(self.database)

    def control(self, actor: str, *, on_progress: Callable[[int], None] | None = None) -> Control:
        """The operators' verbs, audited under this name."""
        return Control(self.database, actor, on_progress=on_progress)

    async def delete(self, document_id: int, *, actor: str) -> Receipt:
        """Remove a document and everything made from it, audited under this name."""
        return await delete_document(self.database, self.assembly.store, document_id, actor=actor)

    async def take_answer(self, provider: str, *, message_id: str, reference: str, answer: Answer) -> str:
        """Take what a provider answered, exactly once, and say what became of it."""
        result = await deliver(self.database, provider, message_id=message_id, reference=reference, answer=answer)
        events.answer_came(provider, reference, result)
        return result

    async def reindex(
        self, model: str | None, *, organisation: str | None, on_progress: Callable[[Reindexed], None]
    ) -> Reindexed:
        """Embed everything with the model of that name, or the configured one, then let it answer searches."""
        embedder = self.assembly.embedder if model is None else self.assembly.embedder_named(model)
        return await reindex(self.database, embedder, organisation=organisation, on_progress=on_progress)

    async def prune_vectors(self) -> int:
        """Remove the vectors of models that answer no searches."""
        return await remove_replaced(self.database)

    async def clean(self) -> dict[str, int]:
        """Remove what nobody needs any more, and count it. Safe at any time, by any number of callers."""
        purged = await purge_superseded(self.database, older_than=timedelta(days=self.settings.superseded_days))
        unused = await remove_unused(self.database, self.assembly.store)
        return {
            "replaced_versions": purged.documents,
            "chunks": purged.chunks + await remove_retired_generations(self.database),
            "artifacts": unused.count,
            "bytes": unused.bytes,
            "answers": await remove_old_answers(self.database),
        }

    async def keep_clean(self) -> None:
        """Clean about once an hour until cancelled. Of many workers each takes its turn at another time."""
        while True:
            await asyncio.sleep(CLEAN_SECONDS * random.uniform(0.5, 1.5))
            try:
                events.cleaned(await self.clean())
            except Exception as error:  # whatever it is, it is tried again in an hour
                events.not_cleaned(error)

    def takeover(self, actor: str) -> Desk:
        """What takes over tables of older installations, audited under this name."""
        return Desk(
            database=self.database,
            settings=self.settings,
            actor=actor,
            declared=lambda: self.pipelines,
            files_below=lambda folder: self.assembly.old_files(folder),
            delete=lambda document_id: self.delete(document_id, actor=actor),
        )

    async def takeovers(self) -> list[dict[str, Any]]:
        """Every takeover, the newest first, with how many rows are in which flow."""
        return await takeovers(self.database)

    async def examine(self, *, deep: bool = False) -> list[Finding]:
        """Prove the invariants; what comes back does not hold. `deep` reads every artifact of finished documents."""
        broken = await missing_artifacts(self.database, self.assembly.store, deep=deep)
        owners = await ownership_findings(self.database, self.assembly.store)
        waiting = await self.assembly.journal.waiting(self.database)
        return [*journal_findings(waiting), *await examine(self.database), *artifact_findings(broken), *owners]

    async def database_doubts(self) -> list[str]:
        """What keeps searches from being answered by meaning, and who keeps the database from cleaning up."""
        async with self.database.transaction() as connection:
            notes = await describe_pgvector(connection)
        return [*notes, *await old_snapshots(self.database)]

    async def repair(self, actor: str) -> list[Repair]:
        """Mend what can be mended at any time, audited under this name; first record what was paid for already."""
        recorded = await record_journal(self.assembly.journal, self.database)
        return [*recorded, *await repair(self.database, actor=actor)]

    async def register(self) -> None:
        """Make the configured pipelines known, so that documents can be submitted before any worker has run.

        A login that may not do so is content with what workers have made known.
        """
        queue = Queue(self.database)
        if await queue.may_register():
            await queue.register(self.pipelines)
            return
        known = {row["name"] for row in await self.overview.pipelines()}
        if unknown := [f'"{pipeline.name}"' for pipeline in self.pipelines if pipeline.name not in known]:
            raise DatabaseUnusable(
                f"nobody has registered {', '.join(unknown)} yet, and this login may not: start `holdfast worker` with "
                "the same settings first, or grant holdfast_worker to this login"
            )

    def worker(
        self,
        *,
        only_pipelines: Iterable[str] = (),
        only_phases: Iterable[str] = (),
        concurrency: int | None = None,
        grace_seconds: float = 30.0,
    ) -> Worker:
        """A worker for the configured pipelines. A name that fits none of them raises NotFound."""
        for doubt in self.doubts:
            events.settings_doubtful(doubt)
        only_pipelines = tuple(only_pipelines)
        self.assembly.check_offered(*only_pipelines)
        pipelines = self.pipelines
        if concurrency is not None:
            pipelines = tuple(_with_concurrency(pipeline, concurrency) for pipeline in pipelines)
        slots = Slots.serving(pipelines, only_pipelines=only_pipelines, only_phases=tuple(only_phases))
        return Worker(
            self.database,
            pipelines,
            slots=slots,
            pace=_pace(self.settings, grace_seconds),
            journal=self.assembly.journal,
        )


@asynccontextmanager
async def open_app(settings: Settings) -> AsyncIterator[App]:
    """Connect to a database that is ready for use; only the embedded one is migrated on the way."""
    async with connect(settings) as database, AsyncExitStack() as resources:
        await make_ready(database, settings)
        yield App(settings, database, resources)


@asynccontextmanager
async def open_for_worker(settings: Settings) -> AsyncIterator[App]:
    """The same, with connections for a worker: a database silent for longer than the lease counts as gone.

    What it does can be traced.
    """
    size = max(settings.pool_size, FEWEST_WORKER_CONNECTIONS)
    settings = settings.model_copy(update={"pool_size": size})
    async with (
        connect(
            settings, command_seconds=min(settings.lease_seconds, COMMAND_SECONDS), reserved=min(size - 1, 2)
        ) as database,
        AsyncExitStack() as resources,
    ):
        await database.check_direct()
        await make_ready(database, settings)
        app = App(settings, database, resources)
        await resources.enter_async_context(app.assembly.children)
        await resources.enter_async_context(collector.traced(database))
        yield app


def _with_concurrency(pipeline: Pipeline, concurrency: int) -> Pipeline:
    return replace(pipeline, phases=tuple(replace(phase, concurrency=concurrency) for phase in pipeline.phases))


def _pace(settings: Settings, grace_seconds: float) -> Pace:
    return Pace(
        heartbeat_seconds=settings.heartbeat_seconds,
        lease_seconds=settings.lease_seconds,
        sweep_seconds=settings.sweep_seconds,
        poll_seconds=settings.poll_seconds,
        drain_seconds=grace_seconds,
    )
