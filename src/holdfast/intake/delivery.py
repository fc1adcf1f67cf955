"""Brings a batch of stored documents into the queue exactly once, also when the answer to that is lost."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.upload import Upload
from holdfast.db.connection import Connection, Database
from holdfast.engine.patience import Patience
from holdfast.engine.queue import Submission, Submitted, submit
from holdfast.errors import DatabaseUnavailable, InvalidInput
from holdfast.intake.found import Found

STATUS = "select pg_xact_status($1::text::xid8)"


@dataclass(frozen=True, slots=True)
class Ready:
    """A document whose bytes are stored; a link has none yet."""

    found: Found
    submission: Submission
    artifact: Artifact | None


@dataclass(frozen=True, slots=True)
class _Sent:
    transaction: str
    answers: list[Submitted]


class Delivery:
    """Document, job, queue entry and artifact pointer of each, in one transaction for all.

    To submit the same again would record it as a duplicate of itself. So whoever repeats it asks first what became of
    the transaction whose end was not heard of.
    """

    def __init__(self, database: Database, upload: Upload, pipeline: str, ready: Sequence[Ready]) -> None:
        self._database = database
        self._upload = upload
        self._pipeline = pipeline
        self._ready = ready
        self._sent: _Sent | None = None

    async def made(self, patience: Patience) -> list[Submitted]:
        """Deliver, and give the answer to each."""
        return await patience(self._deliver) if self._ready else []

    async def _deliver(self) -> list[Submitted]:
        if self._sent is not None:
            if await self._has_arrived(self._sent.transaction):
                return self._sent.answers
            self._sent = None
        async with self._database.transaction() as connection:
            submitted = await submit(connection, self._pipeline, [item.submission for item in self._ready])
            await self._use_artifacts(connection, submitted)
            await _publish_duplicates(connection, submitted)
            self._sent = _Sent(await connection.fetchval("select pg_current_xact_id()::text"), submitted)
        return submitted

    async def _use_artifacts(self, connection: Connection, submitted: Sequence[Submitted]) -> None:
        uses = [
            (answer.document_id, {"original": item.artifact})
            for item, answer in zip(self._ready, submitted, strict=True)
            if item.artifact is not None and answer.result == "created"
        ]
        await self._upload.use_all(connection, uses)

    async def _has_arrived(self, transaction: str) -> bool:
        try:
            status = await self._database.fetchval(STATUS, transaction)
        except InvalidInput:
            # A server that took over and never heard of it: to this one its number is yet to come.
            return False
        if status == "in progress":
            raise DatabaseUnavailable("the database has not yet noticed that a connection is gone")
        return bool(status == "committed")


async def _publish_duplicates(connection: Connection, submitted: Sequence[Submitted]) -> None:
    """A repeated content takes its location at once: there is no job that would."""
    duplicates = sorted(answer.document_id for answer in submitted if answer.result == "duplicate")
    if duplicates:
        await connection.execute("select holdfast.publish_document(id) from unnest($1::bigint[]) as id", duplicates)
