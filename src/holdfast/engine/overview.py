"""The read-only questions under every face: each is one SQL function that costs what it shows, not what is stored."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypedDict, Unpack

from holdfast.db.connection import Connection, Database
from holdfast.engine.attempt import Json
from holdfast.engine.strict_json import dump
from holdfast.errors import NotFound

Row: TypeAlias = dict[str, Any]
"""Plain values, ready for JSON but for datetimes and Decimals."""

STUCK_MINUTES = 10
RECENT_FAILURES = 20
METRIC_DAYS = 1
UNDER_WAY = ("queued", "working", "failed", "held", "deadletter")


class JobFilter(TypedDict, total=False):
    """What a list of jobs may be narrowed by; None narrows nothing. A done job is in no phase and has no error."""

    state: str | list[str] | None
    status: str | None
    pipeline: str | None
    phase: str | None
    component: str | None
    category: str | None
    retryable: bool | None
    organisation: str | None
    platform: str | None
    metadata: Mapping[str, Json] | None
    fingerprint: str | None
    text: str | None
    """Words of the document's name, in any order, each or its beginning; or the number of a document or a job."""


class Overview:
    """Answers questions and changes nothing. An unknown name raises NotFound, a senseless number InvalidInput."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # The ten questions about the whole.

    async def health(self) -> Row:
        """The whole at a glance; `problems` says in words what someone should look at."""
        (row,) = await self._ask("health")
        return row

    async def failed(self, limit: int = 50, **narrowed: Unpack[JobFilter]) -> list[Row]:
        """Jobs that failed or were given up, with the error of each and what happens next."""
        everything: JobFilter = {"state": ["failed", "deadletter"]}
        page = await self.jobs(limit=limit, **(everything | narrowed))
        failed: list[Row] = page["jobs"]
        return failed

    async def stuck(self, minutes: int = STUCK_MINUTES) -> list[Row]:
        """Jobs that work but made no progress for that long."""
        return await self._ask("stuck", minutes)

    async def throughput(self, hours: int = 24) -> list[Row]:
        """Attempts ended, by hour and phase."""
        return await self._ask("throughput", hours)

    async def outcomes(self, hours: int = 24) -> list[Row]:
        """Attempts ended, by phase, outcome and category."""
        return await self._ask("outcomes", hours)

    async def durations(self, hours: int = 24) -> list[Row]:
        """How long completed attempts took, by phase: count, median, 95th percentile, longest, average."""
        return await self._ask("durations", hours)

    async def costs(self, days: int = 7) -> list[Row]:
        """Money spent, by organisation, platform and phase."""
        return await self._ask("costs", days)

    async def failure_rate_by_platform(self, days: int = 7) -> list[Row]:
        """The share of attempts that failed, by where documents came from."""
        return await self._ask("failure_rate_by_platform", days)

    async def backlog(self) -> list[Row]:
        """What waits before each phase, for how long, and whether it becomes more."""
        return await self._ask("backlog")

    async def retries(self, days: int = 7) -> list[Row]:
        """How often phases failed, were tried again and recovered."""
        return await self._ask("retries", days)

    async def pipeline_of(self, document_id: int) -> Row:
        """A document with all its jobs, each with all its attempts; one snapshot."""
        async with self._snapshot() as connection:
            (document,) = await _ask(connection, "document", document_id)
            jobs = await _rows(
                connection,
                "select * from holdfast.overview_cards(array(select id from holdfast.jobs_of($1)))",
                document_id,
            )
            attempts = await _ask(connection, "attempts", [job["job_id"] for job in jobs])
            placed = [await _with_position(connection, job) for job in jobs]
        return {**document, "jobs": [_with_attempts(job, attempts) for job in placed]}

    async def processing_status(self) -> Row:
        """Queues, stuck jobs and recent failures in one document; a phase name used twice carries its pipeline."""
        async with self._snapshot() as connection:
            queues = await _ask(connection, "queues")
            stuck = await _ask(connection, "stuck", STUCK_MINUTES)
            failures = await _ask(connection, "recent_failures", RECENT_FAILURES)
        return {
            "queues": _by_phase(queues),
            "stuck_jobs": [
                _only(row, "pipeline", "phase", "minutes") | {"document": row["document_id"]} for row in stuck
            ],
            "recent_failures": [
                _only(row, "pipeline", "phase", "error") | {"document": row["document_id"]} for row in failures
            ],
        }

    async def worker_metrics(self, pipeline: str | None = None) -> Row:
        """How many jobs are in each state, how retries and durations go and what failed last, in one snapshot."""
        async with self._snapshot() as connection:
            answers = {
                "queues": await _ask(connection, "queues"),
                "retry_stats": await _ask(connection, "retries", METRIC_DAYS),
                "avg_duration": await _ask(connection, "durations", METRIC_DAYS * 24),
                "recent_failures": await _ask(connection, "recent_failures", RECENT_FAILURES),
            }
        kept = {name: [row for row in rows if pipeline in (None, row["pipeline"])] for name, rows in answers.items()}
        queues = kept.pop("queues")
        if pipeline is not None and not queues:
            raise NotFound(f'there is no pipeline "{pipeline}"')
        return {"status_counts": {state: sum(row[state] for row in queues) for state in UNDER_WAY}, **kept}

    # The five questions about errors and money.

    async def top_failing(self, limit: int = 20, days: int = 7) -> list[Row]:
        """The documents with the most errors that counted."""
        return await self._ask("top_failing", limit, days)

    async def errors_by(self, group: str, days: int = 7) -> list[Row]:
        """Logged errors by category, component, platform, fingerprint or organisation, each with an example."""
        return await self._ask("errors_by", group, days)

    async def recovery_by_category(self, days: int = 7) -> list[Row]:
        """How often retries recover, by the category of what they retried."""
        return await self._ask("recovery_by_category", days)

    async def repeat_offenders(self, times: int = 3, days: int = 30) -> list[Row]:
        """Documents that failed at least so often with one cause: a bug, most likely."""
        return await self._ask("repeat_offenders", times, days)

    async def budget_refusals(self, days: int = 7) -> list[Row]:
        """What budgets refused, by day."""
        return await self._ask("budget_refusals", days)

    async def failure_groups(self, days: int = 7, limit: int = 100) -> list[Row]:
        """Logged errors by cause, the most frequent first, with how many jobs each keeps from going on."""
        return await self._ask("failure_groups", days, limit)

    async def costs_by_day(self, days: int = 14) -> list[Row]:
        """Money spent, by day, organisation, phase and provider; days are those of UTC, today included."""
        return await self._ask("costs_by_day", days)

    async def saved(self, days: int = 14) -> list[Row]:
        """Money not spent again because finished phases were kept, by day of UTC."""
        return await self._ask("saved", days)

    # What faces show.

    async def queues(self) -> list[Row]:
        """Every phase in order: how many jobs wait, work or need someone, and who runs it."""
        return await self._ask("queues")

    async def flow(self, seconds: int = 900, bucket_seconds: int = 30) -> list[Row]:
        """Attempts that ended of late, by stretches of time and phase; a stretch without any has no row."""
        return await self._ask("flow", seconds, bucket_seconds)

    async def jobs(self, *, limit: int = 50, cursor: str | None = None, **narrowed: Unpack[JobFilter]) -> Row:
        """A page of jobs, those of the newest documents first, and the cursor of the next page or None."""
        asked = {key: value for key, value in narrowed.items() if value is not None}
        jobs = await _rows(
            self._database,
            "select * from holdfast.overview_cards(array(select holdfast.overview_jobs($1::text::jsonb, $2, $3)))",
            dump(asked).decode(),
            limit,
            cursor,
        )
        full = jobs and len(jobs) == limit
        return {
            "jobs": jobs,
            "cursor": f"{jobs[-1]['document_id']}-{jobs[-1]['job_id']}" if full else None,
        }

    async def job(self, job_id: int) -> Row:
        """A job with its document, its attempts and what happens next; one snapshot."""
        async with self._snapshot() as connection:
            cards = await _ask(connection, "cards", [job_id])
            if not cards:
                raise NotFound(f"there is no job {job_id}")
            (document,) = await _ask(connection, "document", cards[0]["document_id"])
            attempts = await _ask(connection, "attempts", [job_id])
            job = await _with_position(connection, cards[0])
        return {**_with_attempts(job, attempts), "document": document}

    async def position(self, job_id: int) -> int | None:
        """How many jobs are claimed before it; 10,001 means more than 10,000, None that it is not queued."""
        return await _position(self._database, job_id)

    async def progress(self, job_ids: list[int]) -> list[Row]:
        """Where these jobs and those of their documents' children stand, phase by phase."""
        return await self._ask("progress", job_ids)

    async def spent(self, job_ids: list[int]) -> list[Row]:
        """What these jobs and those of their documents' children took, phase by phase: attempts, time and money."""
        return await self._ask("spent", job_ids)

    async def family(self, job_ids: list[int]) -> list[Row]:
        """These jobs and those of their documents' children as people see them."""
        return await _rows(
            self._database,
            "select * from holdfast.overview_cards(array(select holdfast.overview_family($1)))",
            job_ids,
        )

    async def failed_originals(self, document_ids: list[int]) -> list[Row]:
        """Of documents that repeat another's content: the jobs of those others that failed for good."""
        return await self._ask("failed_originals", document_ids)

    async def holds(self) -> list[Row]:
        """The holds in force; `until` is None when only a release ends it."""
        return await self._ask("holds")

    async def trials(self, limit: int = 50) -> list[Row]:
        """What was tried on a few before the rest, the newest first, and what came of it."""
        return await self._ask("trials", limit)

    async def budgets(self) -> list[Row]:
        """Every budget as it stands today."""
        return await self._ask("budgets")

    async def workers(self) -> list[Row]:
        """Every worker known: alive, silent, lost or stopped."""
        return await self._ask("workers")

    async def pipelines(self) -> list[Row]:
        """Every pipeline registered, with its phases."""
        return await self._ask("pipelines")

    async def policies(self) -> list[Row]:
        """The patience in force, by policy and category."""
        return await self._ask("policies")

    async def database(self) -> Row:
        """The database's figures that tell of trouble before it comes; None where its rights hide one."""
        (row,) = await self._ask("database")
        return row

    async def audit(self, limit: int = 50, job_id: int | None = None) -> list[Row]:
        """What operators did, the newest first; to one job if it is named."""
        return await self._ask("audit", limit, job_id)

    async def _ask(self, question: str, *arguments: object) -> list[Row]:
        return await _ask(self._database, question, *arguments)

    @asynccontextmanager
    async def _snapshot(self) -> AsyncIterator[Connection]:
        async with self._database.transaction() as connection:
            await connection.execute("set transaction isolation level repeatable read, read only")
            yield connection


async def _ask(source: "Connection | Database", question: str, *arguments: object) -> list[Row]:
    places = ", ".join(f"${n}" for n, _ in enumerate(arguments, start=1))
    return await _rows(source, f"select * from holdfast.overview_{question}({places})", *arguments)


async def _rows(source: "Connection | Database", sql: str, *arguments: object) -> list[Row]:
    return [dict(row) for row in await source.fetch(sql, *arguments)]


async def _position(source: "Connection | Database", job_id: int) -> int | None:
    position: int | None = await source.fetchval("select holdfast.overview_position($1)", job_id)
    return position


async def _with_position(connection: Connection, job: Row) -> Row:
    # Only a queued job has a place; a document has at most one of them per pipeline.
    queued = job["state"] == "queued"
    return {**job, "queue_position": await _position(connection, job["job_id"]) if queued else None}


def _with_attempts(job: Row, attempts: Iterable[Row]) -> Row:
    return {**job, "attempts": [attempt for attempt in attempts if attempt["job_id"] == job["job_id"]]}


def _by_phase(queues: list[Row]) -> dict[str, Row]:
    uses = Counter(row["phase"] for row in queues)
    return {
        row["phase"] if uses[row["phase"]] == 1 else f"{row['pipeline']}.{row['phase']}": {
            "queued": row["queued"],
            "processing": row["working"],
            "failed": row["failed"],
        }
        for row in queues
    }


def _only(row: Row, *keys: str) -> Row:
    return {key: row[key] for key in keys}
