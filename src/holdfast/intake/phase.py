"""The first phase of documents: their bytes are in the store, or are fetched into it."""

import asyncio
import tempfile
from pathlib import Path

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.store import ArtifactStore
from holdfast.artifacts.upload import Upload
from holdfast.db.connection import Connection, Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import DUPLICATE, Done, Save
from holdfast.errors import CorruptInput, StorageUnavailable
from holdfast.intake.answers import charset_of
from holdfast.intake.fetching import Fetcher
from holdfast.intake.media_type import sniff_file
from holdfast.standard import Carried


class Store:
    """Hands on a document whose bytes are surely in the store; follows a link first, if it was submitted as one."""

    def __init__(self, store: ArtifactStore, database: Database, fetcher: Fetcher, *, most_bytes: int) -> None:
        self._store = store
        self._database = database
        self._fetcher = fetcher
        self._most_bytes = most_bytes

    async def run(self, attempt: Attempt) -> Done:
        """Safe to repeat: nothing is recorded but in the transaction that settles the attempt."""
        match attempt.input:
            case {"url": str(url)}:
                return await self._follow(attempt, url)
            case {"original": dict()}:
                return await self._check(attempt, Carried.from_json(attempt.input))
            case _:
                text = (
                    f"document {attempt.document.id} was submitted with neither a link nor an artifact: submit it again"
                )
                raise CorruptInput(text, error_code="NOTHING_TO_STORE")

    async def _check(self, attempt: Attempt, carried: Carried) -> Done:
        original = carried.original
        if not await asyncio.to_thread(self._store.exists, attempt.document.organisation, original):
            text = f"the artifact {original.hash} of {carried.name} is not in the store: restore it or ingest it again"
            raise StorageUnavailable(text, error_code="ARTIFACT_MISSING")
        return Done(output=carried.to_json())

    async def _follow(self, attempt: Attempt, url: str) -> Done:
        document = attempt.document
        with tempfile.TemporaryDirectory(prefix="holdfast-fetch-") as folder:
            path = Path(folder) / "content"
            fetched = await self._fetcher.fetch(url, path, most_bytes=self._most_bytes)
            async with Upload(self._database, self._store, document.organisation) as upload:
                artifact = await upload.put_file(path)
                media_type = await asyncio.to_thread(sniff_file, path, fetched.name)
                original_id = await self._database.fetchval(
                    "select holdfast.original_of($1, $2, $3)", document.id, artifact.hash, attempt.pipeline
                )
        carried = Carried(
            original=artifact, media_type=media_type, name=fetched.name, charset=charset_of(fetched.content_type)
        )
        if original_id is None:
            save = _record(attempt, carried, upload)
        else:
            save = _record_duplicate(attempt, carried, original_id)
            await upload.release()
        return Done(
            output=carried.to_json(),
            save=save,
            metadata={"fetched": {"url": fetched.url, "content_type": fetched.content_type}},
            ends_as=None if original_id is None else DUPLICATE,
        )


def _record(attempt: Attempt, carried: Carried, upload: Upload) -> Save:
    async def save(connection: Connection) -> None:
        document_id, artifact = attempt.document.id, carried.original
        recorded = await connection.fetchval(
            "select holdfast.store_fetched($1, $2, $3, $4)", document_id, carried.name, artifact.hash, attempt.pipeline
        )
        _refuse_race(recorded, artifact)
        await upload.use(connection, document_id, {"original": artifact})

    return save


def _record_duplicate(attempt: Attempt, carried: Carried, original_id: int) -> Save:
    async def save(connection: Connection) -> None:
        document_id, artifact = attempt.document.id, carried.original
        recorded = await connection.fetchval(
            "select holdfast.store_duplicate($1, $2, $3, $4)", document_id, original_id, carried.name, artifact.hash
        )
        _refuse_race(recorded, artifact)
        await connection.execute("select holdfast.publish_document($1)", document_id)

    return save


def _refuse_race(recorded: bool, artifact: Artifact) -> None:
    """Fail the attempt, so that the next one looks again, when the same content came or went in the same moment."""
    if not recorded:
        text = (
            f"another document with the content {artifact.hash} came or went meanwhile: a retry settles which is first"
        )
        raise StorageUnavailable(text, error_code="CONTENT_RACE")
