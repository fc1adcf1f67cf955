"""Puts artifacts so that nobody removes them before it is recorded who needs them."""

import asyncio
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.spool import Spool
from holdfast.artifacts.store import ArtifactStore, limited, read_file
from holdfast.db.connection import Connection, Database
from holdfast.engine.patience import Patience, insist
from holdfast.engine.strict_json import dump
from holdfast.errors import HoldfastError, StorageUnavailable

# How much is gathered at most before it is leased and placed, by those who put many.
BATCH_COUNT = 100
BATCH_BYTES = 64 << 20

WAITING_SECONDS = 60.0  # a removal takes a few; one that died holds its objects for minutes
PAUSE_SECONDS = 0.1
RELEASE_SECONDS = 5.0

LEASE = "select holdfast.lease_artifacts($1, $2::text::jsonb, $3)"
RELEASE = "select holdfast.release_artifacts($1, $2, $3)"
USE = (
    "select holdfast.use_artifacts(i.document_id, i.items, $2)"
    " from jsonb_to_recordset($1::text::jsonb) as i(document_id bigint, items jsonb)"
)


class Upload:
    """What one holder puts: leased from before its first byte until it is used, released, or a day is over.

    As a context it removes what was gathered and not placed; if it ends with an error it releases everything. Otherwise
    what was put stays leased: `use` it in the transaction that records who needs it, or `release` it. Safe in several
    tasks and threads at once.
    """

    def __init__(
        self, database: Database, store: ArtifactStore, organisation: str, *, patience: Patience = insist
    ) -> None:
        """`patience` says how long to wait for a database that is away."""
        self._database = database
        self._store = store
        self._organisation = organisation
        self._patience = patience
        self._leased: set[str] = set()
        self._spools: set[Spool] = set()
        self.holder = uuid.uuid4().hex

    async def put_file(self, path: Path) -> Artifact:
        """Keep a file's content as it is now. The file stays where it is."""
        return await self._put(read_file(path))

    async def put_bytes(self, data: bytes) -> Artifact:
        """Keep these bytes."""
        return await self._put((data,))

    def spool(self, chunks: Iterable[bytes], *, most_bytes: int) -> Spool:
        """Gather content to be kept later, or raise TooLarge beyond `most_bytes`. Blocks."""
        return self._spool(limited(chunks, most_bytes))

    async def keep(self, *spools: Spool) -> None:
        """Lease and place what was gathered."""
        await self.lease([spool.artifact for spool in spools])
        await asyncio.to_thread(self._place_all, spools)

    async def lease(self, artifacts: Sequence[Artifact]) -> None:
        """Keep others from removing these, in one round trip. Waits for those that are being removed at this moment."""
        waiting = {artifact.hash: artifact for artifact in artifacts}
        self._leased |= waiting.keys()
        deadline = asyncio.get_running_loop().time() + WAITING_SECONDS
        while waiting:
            refused = await self._patience(partial(self._ask, tuple(waiting.values())))
            waiting = {content_hash: waiting[content_hash] for content_hash in refused}
            if waiting:
                if asyncio.get_running_loop().time() > deadline:
                    raise _being_removed(next(iter(waiting)))
                await asyncio.sleep(PAUSE_SECONDS)

    def place(self, spool: Spool) -> None:
        """Make what was gathered and leased durable in the store. Blocks."""
        try:
            self._store.place(self._organisation, spool)
        finally:
            self._drop(spool)

    async def use(self, connection: Connection, document_id: int, kinds: Mapping[str, Artifact]) -> None:
        """Record that a document needs these, in the caller's transaction."""
        await self.use_all(connection, [(document_id, kinds)])

    async def use_all(self, connection: Connection, uses: Sequence[tuple[int, Mapping[str, Artifact]]]) -> None:
        """The same for many documents. StorageUnavailable if the lease is over: then nothing is known of the bytes."""
        await use_artifacts(connection, uses, holder=self.holder)

    async def release_rest(self, connection: Connection) -> None:
        """End the leases of what no use was recorded for, in the caller's transaction, after the uses."""
        await connection.execute(RELEASE, self._organisation, sorted(self._leased), self.holder)

    async def release(self, *, but: Collection[str] = ()) -> None:
        """Leave to retention what was put for nothing, all but these hashes. Never fails: in a day it ends anyway."""
        released = sorted(self._leased.difference(but))
        if released:
            with suppress(HoldfastError, TimeoutError):
                async with asyncio.timeout(RELEASE_SECONDS):
                    await self._database.execute(RELEASE, self._organisation, released, self.holder)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for spool in tuple(self._spools):
            self._drop(spool)
        if kind is not None:
            await self.release()

    async def _put(self, chunks: Iterable[bytes]) -> Artifact:
        spool = await asyncio.to_thread(self._spool, chunks)
        await self.keep(spool)
        return spool.artifact

    def _spool(self, chunks: Iterable[bytes]) -> Spool:
        spool = self._store.spool(self._organisation, chunks)
        self._spools.add(spool)
        return spool

    def _place_all(self, spools: Iterable[Spool]) -> None:
        for spool in spools:
            self.place(spool)

    def _drop(self, spool: Spool) -> None:
        self._spools.discard(spool)
        spool.close()

    async def _ask(self, artifacts: Sequence[Artifact]) -> list[str]:
        items = dump([artifact.to_json() for artifact in artifacts]).decode()
        refused: list[str] = await self._database.fetchval(LEASE, self._organisation, items, self.holder)
        return refused


async def use_artifacts(
    connection: Connection, uses: Sequence[tuple[int, Mapping[str, Artifact]]], *, holder: str
) -> None:
    """Record what documents need of what a holder put, in the caller's transaction."""
    rows = [
        {"document_id": document_id, "items": [{"kind": kind, **one.to_json()} for kind, one in kinds.items()]}
        for document_id, kinds in uses
    ]
    await connection.execute(USE, dump(rows).decode(), holder)


def _being_removed(content_hash: str) -> StorageUnavailable:
    return StorageUnavailable(
        f"artifact {content_hash} is being removed, and that does not come to an end: try again in ten minutes",
        error_code="ARTIFACT_BEING_REMOVED",
    )
