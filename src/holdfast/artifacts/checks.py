"""Proves that every artifact a finished document needs is in the store."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import asyncpg

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database
from holdfast.engine.doctor import Finding
from holdfast.errors import StorageUnavailable

PAGE = 500
SHOWN_IDS = 20

Problem: TypeAlias = Literal["missing", "damaged"]


@dataclass(frozen=True, slots=True)
class BrokenArtifact:
    """An artifact that is not in the store as it is recorded, and the document that needs it as `kind`."""

    document_id: int
    kind: str
    hash: str
    problem: Problem


async def missing_artifacts(database: Database, store: ArtifactStore, *, deep: bool = False) -> list[BrokenArtifact]:
    """Every artifact of documents with a finished job that is not there with its size; `deep`: with its content.

    Asks the store for each artifact, and when deep reads all of them: that takes a while. What is removed on purpose
    while it looks may be named.
    """
    broken: list[BrokenArtifact] = []
    after = (0, "")
    while page := await database.fetch("select * from holdfast.needed_artifacts($1, $2, $3)", *after, PAGE):
        after = (page[-1]["document_id"], page[-1]["kind"])
        broken += await asyncio.to_thread(_broken, store, page, deep=deep)
    return broken


def artifact_findings(broken: Sequence[BrokenArtifact]) -> list[Finding]:
    """The same as the doctor tells it: one finding for all, or none."""
    if not broken:
        return []
    first = broken[0]
    documents = tuple(dict.fromkeys(one.document_id for one in broken))
    return [
        Finding(
            check="artifacts",
            invariant="I16",
            title="an artifact that a finished document needs is missing or damaged",
            subject="document",
            count=len(documents),
            ids=documents[:SHOWN_IDS],
            explanation=f"the {first.kind} {first.hash} of document {first.document_id} is {first.problem}",
            mend="restore it from a backup of the store, or delete the document and ingest it again",
            repairable=False,
        )
    ]


def _broken(store: ArtifactStore, page: Sequence[asyncpg.Record], *, deep: bool) -> list[BrokenArtifact]:
    broken = []
    for row in page:
        problem = _problem(store, row["organisation"], Artifact(row["hash"], row["size"]), deep=deep)
        if problem is not None:
            broken.append(BrokenArtifact(row["document_id"], row["kind"], row["hash"], problem))
    return broken


def _problem(store: ArtifactStore, organisation: str, artifact: Artifact, *, deep: bool) -> Problem | None:
    size = store.size_of(organisation, artifact.hash)
    if size is None:
        return "missing"
    if size != artifact.size:
        return "damaged"
    return "damaged" if deep and not _reads_whole(store, organisation, artifact) else None


def _reads_whole(store: ArtifactStore, organisation: str, artifact: Artifact) -> bool:
    try:
        for _ in store.stream(organisation, artifact):
            pass
    except StorageUnavailable as error:
        if error.error_code == "ARTIFACT_TORN":
            return False
        raise
    return True
