"""What was inside a document, such as the files of an archive, becomes documents of its own."""

import asyncio
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.spool import Spool
from holdfast.artifacts.upload import BATCH_BYTES, BATCH_COUNT, Upload
from holdfast.db.connection import Connection
from holdfast.engine.attempt import Attempt, Document, Json
from holdfast.engine.queue import Submission, Submitted, submit
from holdfast.errors import UnsafeArchive
from holdfast.extract.scratch_files import chunks, open_inside
from holdfast.standard import Carried

Sniff: TypeAlias = Callable[[BinaryIO, str], str]
_Spooled: TypeAlias = tuple[str, str, Spool]

DEPTH = "depth"
# What phases added to the document's metadata is not its members'.
_NOT_INHERITED = ("extracted", DEPTH)
_BATCH = 500
_NAME_CHARACTERS = 200
_SEPARATOR = re.compile(r"[/\\]+")


@dataclass(frozen=True, slots=True)
class StoredMember:
    """A member whose bytes are in the store."""

    name: str
    media_type: str
    original: Artifact


def check_nesting(document: Document, count: int, *, most_members: int, most_depth: int) -> None:
    """Raise UnsafeArchive if the document holds too many members, or is itself too deep inside others."""
    if count > most_members:
        raise UnsafeArchive(
            f"{document.source_name} holds {count:,} members; {most_members:,} are taken: split it",
            error_code="TOO_MANY_MEMBERS",
        )
    if count and _depth(document) >= most_depth:
        raise UnsafeArchive(
            f"{document.source_name} is nested {most_depth} levels deep and holds more: unpack it first",
            error_code="NESTED_TOO_DEEPLY",
        )


async def store_members(
    upload: Upload, sniff: Sniff, *, folder: Path, members: Sequence[Mapping[str, Any]], most_bytes: int
) -> list[StoredMember]:
    """Put every member into the store, each under a name that no other has. Many are leased in one round trip."""
    stored: list[StoredMember] = []
    names = _distinct(_clean_name(str(member.get("name") or "")) for member in members)
    spooling = _spool_members(upload, sniff, folder, zip(members, names, strict=True), most_bytes)
    while batch := await asyncio.to_thread(_next_batch, spooling):
        await upload.keep(*(spool for _, _, spool in batch))
        stored += [StoredMember(name, media_type, spool.artifact) for name, media_type, spool in batch]
    return stored


async def submit_members(
    connection: Connection, attempt: Attempt, upload: Upload, members: Sequence[StoredMember]
) -> None:
    """Make them child documents with jobs of their own, in the caller's transaction. Idempotent per document.

    In the order of their hashes, as everyone locks content.
    """
    ordered = sorted(members, key=lambda member: (member.original.hash, member.name))
    for start in range(0, len(ordered), _BATCH):
        batch = ordered[start : start + _BATCH]
        taken = await submit(connection, attempt.pipeline, [_submission(attempt.document, member) for member in batch])
        await _record_originals(connection, upload, taken, batch)
        duplicates = [item.document_id for item in taken if item.result == "duplicate"]
        if duplicates:
            await connection.execute(
                "select holdfast.publish_document(id) from unnest($1::bigint[]) as id", sorted(duplicates)
            )


async def _record_originals(
    connection: Connection, upload: Upload, taken: Sequence[Submitted], members: Sequence[StoredMember]
) -> None:
    pairs = zip(taken, members, strict=True)
    created = [(item.document_id, {"original": member.original}) for item, member in pairs if item.result == "created"]
    await upload.use_all(connection, created)


def _spool_members(
    upload: Upload, sniff: Sniff, folder: Path, members: Iterable[tuple[Mapping[str, Any], str]], most_bytes: int
) -> Iterator[_Spooled]:
    for member, name in members:
        with open_inside(folder, str(member["path"])) as file:
            media_type = sniff(file, name)
            file.seek(0)
            yield name, media_type, upload.spool(chunks(file), most_bytes=most_bytes)


def _next_batch(spooling: Iterator[_Spooled]) -> list[_Spooled]:
    """As many as fit onto the disk once more, and into one round trip. Blocks."""
    batch, room = [], BATCH_BYTES
    for spooled in spooling:
        batch.append(spooled)
        room -= spooled[2].artifact.size
        if room <= 0 or len(batch) == BATCH_COUNT:
            break
    return batch


def _submission(parent: Document, member: StoredMember) -> Submission:
    carried = Carried(original=member.original, media_type=member.media_type, name=member.name)
    metadata: dict[str, Json] = {key: value for key, value in parent.metadata.items() if key not in _NOT_INHERITED}
    return Submission(
        organisation=parent.organisation,
        source_name=member.name,
        source_platform=parent.source_platform,
        source_location=f"{parent.source_location}!/{member.name}" if parent.source_location else None,
        content_hash=member.original.hash,
        metadata={**metadata, DEPTH: _depth(parent) + 1},
        idempotency_key=_key(parent, member),
        parent_id=parent.id,
        input=carried.to_json(),
    )


def _key(parent: Document, member: StoredMember) -> str:
    """The same for the same member of the same document, however often that is extracted."""
    return f"member of {parent.id}: {sha256(f'{member.original.hash} {member.name}'.encode()).hexdigest()}"


def _depth(document: Document) -> int:
    depth = document.metadata.get(DEPTH, 0)
    return depth if isinstance(depth, int) and depth > 0 else 0


def _clean_name(name: str) -> str:
    """A path to be shown: without control and direction characters, nor steps outwards."""
    visible = "".join(character for character in name if unicodedata.category(character)[0] != "C")
    steps = [step.strip() for step in _SEPARATOR.split(visible)]
    return "/".join(step for step in steps if step not in ("", ".", ".."))[-_NAME_CHARACTERS:].strip("/ ") or "unnamed"


def _distinct(names: Iterable[str]) -> list[str]:
    """The same names, a repeated one with a number: two members of one location would be versions of each other."""
    seen: set[str] = set()
    distinct = []
    for name in names:
        unique, number = name, 1
        while unique in seen:
            number += 1
            stem, dot, extension = name.rpartition(".")
            unique = f"{stem} ({number}).{extension}" if stem and dot else f"{name} ({number})"
        seen.add(unique)
        distinct.append(unique)
    return distinct
