"""Every artifact that a finished document needs is in the store, or is named."""

from pathlib import Path

import pytest

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.checks import BrokenArtifact, missing_artifacts
from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database
from tests.artifacts.test_uses import use
from tests.engine.scenario import begin, plain


async def finished(database: Database, store: ArtifactStore, count: int) -> list[tuple[int, Artifact]]:
    scenario = await begin(database, plain("extract"))
    made = []
    for n, submitted in enumerate(await scenario.submit(count)):
        artifact = store.put_bytes("acme", b"content %d" % n)
        await use(database, submitted.document_id, text=artifact)
        await scenario.settle_once("extract")
        made.append((submitted.document_id, artifact))
    return made


def path_of(folder: Path, artifact: Artifact) -> Path:
    (path,) = folder.rglob(artifact.hash)
    return path


async def test_nothing_is_named_when_all_is_there(
    database: Database, store: ArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.artifacts.checks.PAGE", 2)
    await finished(database, store, 5)
    assert await missing_artifacts(database, store, deep=True) == []


async def test_what_is_missing_torn_or_changed_is_named(
    database: Database, folder_store: ArtifactStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.artifacts.checks.PAGE", 2)
    made = await finished(database, folder_store, 5)
    path_of(folder, made[0][1]).unlink()
    path_of(folder, made[2][1]).write_bytes(b"cont")
    path_of(folder, made[4][1]).write_bytes(b"CONTENT 4")
    (gone_id, gone), (torn_id, torn), (changed_id, changed) = made[0], made[2], made[4]
    found = [
        BrokenArtifact(gone_id, "text", gone.hash, "missing"),
        BrokenArtifact(torn_id, "text", torn.hash, "damaged"),
    ]
    assert await missing_artifacts(database, folder_store) == found
    found.append(BrokenArtifact(changed_id, "text", changed.hash, "damaged"))
    assert await missing_artifacts(database, folder_store, deep=True) == found


async def test_a_document_still_under_way_is_not_judged(database: Database, folder_store: ArtifactStore) -> None:
    scenario = await begin(database, plain("extract"))
    submitted = await scenario.submit_one()
    await use(database, submitted.document_id, text=Artifact("0" * 64, 1))
    assert await missing_artifacts(database, folder_store) == []
