"""What a document keeps in the store, to be looked at or taken away."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """An artifact of a document. `name` is the document's; where the content is, only this knows."""

    name: str
    artifact: Artifact
    _organisation: str
    _store: ArtifactStore

    def content(self) -> Iterator[bytes]:
        """The content in pieces; each blocks. StorageUnavailable instead of the end says that it is damaged."""
        return self._store.stream(self._organisation, self.artifact)

    async def beginning(self, most_bytes: int) -> bytes:
        """Its first bytes, at most so many. What follows is not read."""
        return await asyncio.to_thread(self._read, most_bytes)

    async def check(self) -> None:
        """Raise StorageUnavailable if it is not there, before anyone is promised its content."""
        await asyncio.to_thread(self._read, 1)

    def _read(self, most_bytes: int) -> bytes:
        came = b""
        for piece in self.content():
            came += piece
            if len(came) >= most_bytes:
                break
        return came[:most_bytes]


async def file_of(database: Database, store: ArtifactStore, document_id: int, kind: str) -> DocumentFile:
    """What a document keeps as its original, its text or another kind. Raises NotFound when it keeps no such thing."""
    row = await database.fetchrow("select * from holdfast.document_file($1, $2)", document_id, kind)
    assert row is not None
    return DocumentFile(row["source_name"], Artifact(row["hash"], row["size"]), row["organisation"], store)
