"""The extract phase: whatever the document is, its standard text and spans come out and are stored."""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, cast

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.spool import Spool
from holdfast.artifacts.store import ArtifactStore
from holdfast.artifacts.upload import Upload
from holdfast.db.connection import Connection, Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.isolated_children import Children
from holdfast.engine.pipeline import Done
from holdfast.errors import OPERATOR_MENDS, CorruptInput, TooLarge
from holdfast.extract.child import extract, payload_of
from holdfast.extract.cut_off import warn_if_cut_off
from holdfast.extract.members import (
    Sniff,
    StoredMember,
    check_nesting,
    store_members,
    submit_members,
)
from holdfast.extract.reading import SPANS_FILE, TEXT_FILE, Reading
from holdfast.extract.recordings import Recordings, write_transcript
from holdfast.extract.routes import find_reader, is_recording
from holdfast.extract.scratch_files import chunks
from holdfast.standard import Carried, Warning

INPUT_FILE = "input"

_GIGABYTE = 1 << 30


@dataclass(frozen=True, slots=True)
class ExtractLimits:
    """What one document may be. Languages are tesseract's names."""

    file_bytes: int = 2 * _GIGABYTE
    characters: int = 2 * _GIGABYTE
    members: int = 10_000
    depth: int = 5
    scanned_pages: int = 500
    languages: tuple[str, ...] = ("eng",)


@dataclass(frozen=True, slots=True)
class _Extraction:
    """The standard form of a document, in the store."""

    summary: Mapping[str, Any]
    text: Artifact
    spans: Artifact
    members: Sequence[StoredMember] = ()
    cost_usd: Decimal = field(default=Decimal(0))


class Extract:
    """Reads a document in an isolated child, or has it transcribed, and keeps its standard form.

    `sniff` tells the media type of a member from its content and name. The worker's memory does not grow with the
    document: everything goes through files.
    """

    def __init__(
        self,
        database: Database,
        store: ArtifactStore,
        children: Children,
        recordings: Recordings,
        sniff: Sniff,
        *,
        limits: ExtractLimits | None = None,
    ) -> None:
        self._database = database
        self._store = store
        self._children = children
        self._recordings = recordings
        self._sniff = sniff
        self._limits = limits or ExtractLimits()

    async def run(self, attempt: Attempt) -> Done:
        """Store the text and the spans; save which they are and, in the same transaction, submit the members."""
        carried = Carried.from_json(attempt.input)
        self._check_size(carried)
        async with Upload(self._database, self._store, attempt.document.organisation) as upload:
            if is_recording(carried.media_type):
                extraction = await self._transcribed(attempt, carried, upload)
            else:
                extraction = await self._read(attempt, carried, upload)
        return _done(attempt, carried, upload, extraction)

    def _check_size(self, carried: Carried) -> None:
        most = self._limits.file_bytes
        if carried.original.size > most:
            raise TooLarge(
                f"{carried.name} has {carried.original.size:,} bytes; the limit is {most:,}: split it, or raise it",
                error_code="FILE_LIMIT",
                details={"bytes": carried.original.size, "limit_bytes": most, **OPERATOR_MENDS},
            )

    async def _read(self, attempt: Attempt, carried: Carried, upload: Upload) -> _Extraction:
        find_reader(carried.media_type, carried.name)  # before anything is fetched for nothing
        organisation = attempt.document.organisation
        with ExitStack() as files:
            async with self._children.child(key=organisation) as child:
                await asyncio.to_thread(self._store.fetch, organisation, carried.original, child.desk / INPUT_FILE)
                payload = self._payload(carried, child.hand_in(INPUT_FILE))
                answer = await child.run(
                    extract, payload, on_progress=attempt.progress, wall_seconds=attempt.limit_seconds
                )
                summary = _checked(answer)
                members = await self._keep_members(attempt, upload, child.folder, summary["members"])
                read = [files.enter_context(child.take_out(name).open("rb")) for name in (TEXT_FILE, SPANS_FILE)]
            # The lease is over and the files have no name any more: others read while these are put on the disk.
            return await self._keep(upload, read, summary, members)

    def _payload(self, carried: Carried, path: Path) -> dict[str, Any]:
        return payload_of(
            carried,
            path,
            most_characters=self._limits.characters,
            languages=self._limits.languages,
            most_scanned_pages=self._limits.scanned_pages,
        )

    async def _transcribed(self, attempt: Attempt, carried: Carried, upload: Upload) -> _Extraction:
        transcriber = self._recordings.check_supported(carried)
        with tempfile.TemporaryDirectory(prefix="holdfast-recording-") as name:
            folder = Path(name)
            path = folder / INPUT_FILE
            await asyncio.to_thread(self._store.fetch, attempt.document.organisation, carried.original, path)
            heard = await self._recordings.transcribe(attempt, carried, recording=path, on_progress=attempt.progress)
            reading = Reading(folder, most_characters=self._limits.characters)
            try:
                write_transcript(heard.transcript, reading, name=carried.name, extractor=transcriber.name)
                warn_if_cut_off(path, carried.media_type, reading)
                summary = reading.finish()
            finally:
                reading.abandon()
            with (folder / TEXT_FILE).open("rb") as text, (folder / SPANS_FILE).open("rb") as spans:
                return await self._keep(upload, (text, spans), summary, (), heard.cost_usd)

    async def _keep_members(
        self, attempt: Attempt, upload: Upload, folder: Path, members: Sequence[Mapping[str, Any]]
    ) -> Sequence[StoredMember]:
        limits = self._limits
        check_nesting(attempt.document, len(members), most_members=limits.members, most_depth=limits.depth)
        if not members:
            return ()
        return await store_members(upload, self._sniff, folder=folder, members=members, most_bytes=limits.file_bytes)

    async def _keep(
        self,
        upload: Upload,
        read: Sequence[BinaryIO],
        summary: Mapping[str, Any],
        members: Sequence[StoredMember] = (),
        cost_usd: Decimal = Decimal(0),
    ) -> _Extraction:
        """Put what was read, the text and the spans, into the store."""
        text, spans = await asyncio.to_thread(lambda: [self._spool(upload, file) for file in read])
        await upload.keep(text, spans)
        return _Extraction(summary, text.artifact, spans.artifact, members, cost_usd)

    def _spool(self, upload: Upload, file: BinaryIO) -> Spool:
        # A character is at most four bytes, and a span's row is about as long as the text it stands for.
        return upload.spool(chunks(file), most_bytes=4 * self._limits.characters)


def _checked(summary: object) -> Mapping[str, Any]:
    """The child's answer, if it has the shape that its `Reading` gives it: a child may have been taken over."""
    match summary:
        case {
            "characters": int(),
            "title": str() | None,
            "language": str() | None,
            "extractor": str(),
            "facts": dict() as facts,
            "warnings": list() as warnings,
            "members": list() as members,
        }:
            said = all(map(_is_warning, warnings)) and all(isinstance(fact, int | str) for fact in facts.values())
            if said and all(map(_is_member, members)):
                return cast("Mapping[str, Any]", summary)
    raise CorruptInput("the reader broke and answered nonsense", error_code="NONSENSE_ANSWER")


def _is_warning(value: object) -> bool:
    match value:
        case {"code": str(), "message": str(), **rest}:
            return not rest
    return False


def _is_member(value: object) -> bool:
    match value:
        case {"path": str(), "name": str() | None}:
            return True
    return False


def _done(attempt: Attempt, carried: Carried, upload: Upload, extraction: _Extraction) -> Done:
    summary = extraction.summary
    kinds = {"text": extraction.text, "spans": extraction.spans}

    async def save(connection: Connection) -> None:
        await upload.use(connection, attempt.document.id, kinds)
        await submit_members(connection, attempt, upload, extraction.members)
        await upload.release_rest(connection)

    output = carried.adding(
        *(Warning(**warning) for warning in summary["warnings"]),
        **kinds,
        characters=summary["characters"],
        title=summary["title"] or carried.title,
        language=summary["language"] or carried.language,
        extractor=summary["extractor"],
    )
    return Done(
        output.to_json(), save=save, cost_usd=extraction.cost_usd, metadata={"extracted": _account(carried, summary)}
    )


def _account(carried: Carried, summary: Mapping[str, Any]) -> dict[str, Any]:
    """What people are shown of it."""
    known = {name: summary[name] for name in ("title", "language", "extractor", "characters") if summary[name]}
    counted = {"members": len(summary["members"])} if summary["members"] else {}
    warnings = {"warnings": summary["warnings"]} if summary["warnings"] else {}
    return {"media_type": carried.media_type, **known, **summary["facts"], **counted, **warnings}
