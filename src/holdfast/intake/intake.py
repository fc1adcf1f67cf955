"""Takes documents in: stores their bytes, recognises what came before, and creates their jobs."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from holdfast.artifacts.store import ArtifactStore
from holdfast.artifacts.translation import STORAGE_FULL
from holdfast.artifacts.upload import Upload
from holdfast.db.connection import Database
from holdfast.engine.attempt import Json
from holdfast.engine.organisation import checked_organisation
from holdfast.engine.patience import Patience, ask_once
from holdfast.engine.queue import Submission, Submitted
from holdfast.engine.strict_json import dump
from holdfast.errors import StorageUnavailable, TooLarge
from holdfast.intake.contents import Content, Unreadable, spool_content
from holdfast.intake.delivery import Delivery, Ready
from holdfast.intake.found import Found
from holdfast.intake.standing import Location, Standing, current_documents
from holdfast.standard import Carried

_BATCH_DOCUMENTS = 100
_BATCH_BYTES = 64 << 20
_READERS = 4

Value = TypeVar("Value")


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
        async with Upload(self._database, self._store, order.organisation, patience=order.patience) as upload:
            prepared = await self._store_batch(upload, batch, standing, order)
            ready = [item for item in prepared if isinstance(item, Ready)]
            answers = await Delivery(self._database, upload, self._pipeline, ready).made(order.patience)
            await upload.release(but=_used(ready, answers))
        submitted = iter(answers)
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

    async def _store_batch(
        self, upload: Upload, batch: Sequence[Found], standings: Mapping[Location, Standing], order: "_Order"
    ) -> list[Ready | Taken]:
        """Gather the bytes of all, lease them in one round trip, and place them."""
        turns = asyncio.Semaphore(_READERS)
        spooled = await asyncio.gather(*(self._spool(upload, found, standings, turns) for found in batch))
        await upload.lease([content.spool.artifact for content in spooled if isinstance(content, Content)])
        placing = (
            self._place(upload, found, content, standings, order, turns)
            for found, content in zip(batch, spooled, strict=True)
        )
        return await asyncio.gather(*placing)

    async def _spool(
        self, upload: Upload, found: Found, standings: Mapping[Location, Standing], turns: asyncio.Semaphore
    ) -> Content | Taken | None:
        """The content if there is any to store, or what became of it otherwise; None for a link."""
        standing = standings.get(_location(found))
        if found.content is None:
            return _known(found, Result.EXISTING, standing) if standing is not None and standing.is_awaited else None
        content = await _told(
            found, turns, lambda: spool_content(upload, found, standing=standing, most_bytes=self._most_bytes)
        )
        if content is None:
            assert standing is not None
            return _known(found, Result.UNCHANGED, standing)
        return content

    async def _place(
        self,
        upload: Upload,
        found: Found,
        content: Content | Taken | None,
        standings: Mapping[Location, Standing],
        order: "_Order",
        turns: asyncio.Semaphore,
    ) -> Ready | Taken:
        if isinstance(content, Taken):
            return content
        if content is None:
            return Ready(found, order.submission(found, {"url": found.location}), None)
        failed = await _told(found, turns, lambda: upload.place(content.spool))
        if failed is not None:
            return failed
        if content.is_known:
            return _known(found, Result.UNCHANGED, standings[_location(found)])
        artifact = content.spool.artifact
        carried = Carried(original=artifact, media_type=content.media_type, name=found.name)
        submission = order.submission(found, carried.to_json(), content_hash=artifact.hash)
        return Ready(found, submission, artifact)


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


async def _told(found: Found, turns: asyncio.Semaphore, call: Callable[[], Value]) -> Value | Taken:
    """What the call, which blocks, gives; or why this document is passed over."""
    try:
        async with turns:
            return await asyncio.to_thread(call)
    except TooLarge as error:
        return Taken(found=found, result=Result.TOO_LARGE, reason=str(error))
    except Unreadable as error:
        return Taken(found=found, result=Result.UNREADABLE, reason=str(error))
    except StorageUnavailable as error:
        if error.error_code != STORAGE_FULL:
            raise
        return Taken(found=found, result=Result.WITHOUT_ROOM, reason=f"{error}, then take it in again")


def _used(ready: Sequence[Ready], answers: Sequence[Submitted]) -> set[str]:
    """The hashes of what documents need now."""
    pairs = zip(ready, answers, strict=True)
    return {item.artifact.hash for item, answer in pairs if item.artifact is not None and answer.result == "created"}


def _location(found: Found) -> Location:
    return found.platform, found.location or ""


def _batches(found: Iterable[Found]) -> Iterator[list[Found]]:
    """Groups of limited size and number; one location comes at most once in each, so that its turns are seen."""
    batch: list[Found] = []
    locations: set[Location] = set()
    room = _BATCH_BYTES
    for item in found:
        size = _size(item)
        repeated = item.location is not None and _location(item) in locations
        if batch and (repeated or size > room or len(batch) == _BATCH_DOCUMENTS):
            yield batch
            batch, locations, room = [], set(), _BATCH_BYTES
        batch.append(item)
        locations.add(_location(item))
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
