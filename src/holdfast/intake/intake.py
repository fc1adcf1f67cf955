"""Takes documents in: stores their bytes, recognises what came before, and creates their jobs."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from holdfast.artifacts.store import ArtifactStore
from holdfast.artifacts.translation import STORAGE_FULL
from holdfast.db.connection import Database
from holdfast.engine.attempt import Json
from holdfast.engine.organisation import checked_organisation
from holdfast.engine.patience import Patience, ask_once
from holdfast.engine.queue import Submission, Submitted
from holdfast.engine.strict_json import dump
from holdfast.errors import StorageUnavailable, TooLarge
from holdfast.intake.contents import Stored, Unreadable, store_content
from holdfast.intake.delivery import Delivery, Ready
from holdfast.intake.found import Found
from holdfast.intake.standing import Location, Standing, current_documents
from holdfast.standard import Carried

_BATCH_DOCUMENTS = 100
_BATCH_BYTES = 64 << 20
_READERS = 4


class Result(StrEnum):
    """What became of a document that was found."""

    CREATED = "created"
    UNCHANGED = "unchanged"
    DUPLICATE = "duplicate"
    EXISTING = "existing"
    PERMANENT_FAILURE = "permanent_failure"
    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"
    WITHOUT_ROOM = "without_room"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A document and what became of it.

    `state` is the job's where the document was known already, so that one which failed before can be pointed out, and
    `under_way` whether that job goes on without anyone's help; `reason` says why nothing was taken; `content_hash` is
    of what came, where that was read. `metadata_merged` says that the document was known and this time something new
    was said of it.
    """

    found: Found
    result: Result
    document_id: int | None = None
    job_id: int | None = None
    state: str | None = None
    under_way: bool = False
    reason: str | None = None
    content_hash: str | None = None
    metadata_merged: bool = False


class Intake:
    """Takes documents into one pipeline, which must be registered: otherwise NotFound."""

    def __init__(
        self, database: Database, store: ArtifactStore, *, pipeline: str = "documents", most_bytes: int
    ) -> None:
        self._database = database
        self._store = store
        self._pipeline = pipeline
        self._most_bytes = most_bytes

    async def take_in(
        self,
        found: Iterable[Found],
        *,
        organisation: str,
        metadata: Mapping[str, Json] | None = None,
        priority: int = 0,
        patience: Patience = ask_once,
    ) -> AsyncIterator[Taken]:
        """Take in what a source finds, in its order, and say of each what became of it.

        Document, job, queue entry and artifact pointer are one transaction, shared by a batch. To repeat it after any
        interruption is safe: what arrived is unchanged then, and bytes stored for nothing are swept away. What is said
        of a document that stands there already is merged into its metadata, and no phase runs. What cannot be read, is
        too large or finds no room is told and passed over; other trouble of the store ends it with its error, and a
        database that is away is waited for as `patience` has it.
        """
        order = _Order(checked_organisation(organisation), metadata or {}, priority, patience)
        batches = _batches(found)
        while batch := await asyncio.to_thread(next, batches, None):
            for taken in await self._take_batch(batch, order):
                yield taken

    async def _take_batch(self, batch: Sequence[Found], order: "_Order") -> list[Taken]:
        standing = await order.patience(
            lambda: current_documents(self._database, batch, organisation=order.organisation, pipeline=self._pipeline)
        )
        order = replace(order, reading=await self._begin_reading(batch, order))
        turns = asyncio.Semaphore(_READERS)
        prepared = await asyncio.gather(*(self._prepare(found, standing, order, turns) for found in batch))
        ready = [item for item in prepared if isinstance(item, Ready)]
        submitted = iter(await Delivery(self._database, self._pipeline, ready).made(order.patience))
        merged = await self._merge_metadata([item for item in prepared if isinstance(item, Taken)], order)
        return [
            _taken(item, next(submitted))
            if isinstance(item, Ready)
            else replace(item, metadata_merged=item.document_id in merged)
            for item in prepared
        ]

    async def _begin_reading(self, batch: Sequence[Found], order: "_Order") -> int | None:
        """A number for all that is read from now on: whoever reads the same location later gets a higher one."""
        if not any(found.location is not None for found in batch):
            return None
        number: int = await order.patience(lambda: self._database.fetchval("select holdfast.begin_reading()"))
        return number

    async def _merge_metadata(self, known: Sequence[Taken], order: "_Order") -> set[int | None]:
        said = [
            {"document_id": one.document_id, "metadata": metadata, "idempotency_key": one.found.key}
            for one in known
            if one.document_id is not None and (metadata := order.said(one.found))
        ]
        if not said:
            return set()
        rows = await order.patience(
            lambda: self._database.fetch(
                "select holdfast.merge_metadata($1, $2::text::jsonb) as id", order.organisation, dump(said).decode()
            )
        )
        return {row["id"] for row in rows}

    async def _prepare(
        self, found: Found, standings: Mapping[Location, Standing], order: "_Order", turns: asyncio.Semaphore
    ) -> Ready | Taken:
        standing = standings.get((found.platform, found.location or ""))
        if found.content is None:
            if standing is not None and standing.is_awaited:
                return _known(found, Result.EXISTING, standing)
            return Ready(found, order.submission(found, {"url": found.location}), None)
        try:
            async with turns:
                stored = await asyncio.to_thread(self._store_content, found, standing, order)
        except TooLarge as error:
            return Taken(found=found, result=Result.TOO_LARGE, reason=str(error))
        except Unreadable as error:
            return Taken(found=found, result=Result.UNREADABLE, reason=str(error))
        except StorageUnavailable as error:
            if error.error_code != STORAGE_FULL:
                raise
            return Taken(found=found, result=Result.WITHOUT_ROOM, reason=f"{error}, then take it in again")
        if stored is None:
            assert standing is not None
            return _known(found, Result.UNCHANGED, standing)
        carried = Carried(original=stored.artifact, media_type=stored.media_type, name=found.name)
        submission = order.submission(found, carried.to_json(), content_hash=stored.artifact.hash)
        return Ready(found, submission, stored.artifact)

    def _store_content(self, found: Found, standing: Standing | None, order: "_Order") -> Stored | None:
        return store_content(self._store, order.organisation, found, standing=standing, most_bytes=self._most_bytes)


@dataclass(frozen=True, slots=True)
class _Order:
    """Whom the documents belong to and what the caller says about all of them."""

    organisation: str
    metadata: Mapping[str, Json]
    priority: int
    patience: Patience
    reading: int | None = None

    def said(self, found: Found) -> dict[str, Json]:
        return {**found.metadata, **self.metadata}

    def submission(self, found: Found, input: Json, *, content_hash: str | None = None) -> Submission:
        return Submission(
            organisation=self.organisation,
            source_name=found.name,
            source_platform=found.platform,
            source_location=found.location,
            content_hash=content_hash,
            metadata=self.said(found),
            idempotency_key=found.key,
            version=found.reading or self.reading,
            priority=self.priority,
            input=input,
        )


def _batches(found: Iterable[Found]) -> Iterator[list[Found]]:
    """Groups of limited size and number; one location comes at most once in each, so that its turns are seen."""
    batch: list[Found] = []
    locations: set[Location] = set()
    room = _BATCH_BYTES
    for item in found:
        size = _size(item)
        repeated = item.location is not None and (item.platform, item.location) in locations
        if batch and (repeated or size > room or len(batch) == _BATCH_DOCUMENTS):
            yield batch
            batch, locations, room = [], set(), _BATCH_BYTES
        batch.append(item)
        locations.add((item.platform, item.location or ""))
        room -= size
    if batch:
        yield batch


def _size(found: Found) -> int:
    try:
        return os.stat(found.content).st_size if isinstance(found.content, Path) else 0
    except OSError:
        return 0


def _taken(ready: Ready, answer: Submitted) -> Taken:
    return Taken(
        found=ready.found,
        result=Result(answer.result),
        document_id=answer.document_id,
        job_id=answer.job_id,
        content_hash=ready.submission.content_hash,
    )


def _known(found: Found, result: Result, standing: Standing) -> Taken:
    return Taken(
        found=found,
        result=result,
        document_id=standing.document_id,
        job_id=standing.job_id,
        state=standing.state,
        under_way=standing.is_under_way,
        content_hash=standing.content_hash,
    )
