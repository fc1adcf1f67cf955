"""Deleting documents whose bytes somebody else is just taking in: what is accepted later has its bytes."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import pytest

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done
from holdfast.engine.worker import Worker
from holdfast.errors import CorruptInput
from holdfast.intake.intake import Result
from holdfast.intake.sources.files import Files
from holdfast.publish.removal import delete_document
from tests.engine.working import QUICK
from tests.intake.documents import DOCUMENTS, intake_for, take_in, write

Value = TypeVar("Value")


async def refuse(attempt: Attempt) -> Done:
    raise CorruptInput("no document at all")


UNREADABLE = replace(DOCUMENTS, phases=(replace(DOCUMENTS.phases[0], handler=refuse), *DOCUMENTS.phases[1:]))
X = Artifact(sha256(b"tide table").hexdigest(), 10)


class Interleaved:
    """Asks the database at once, but lets others act first as soon as the bytes are stored."""

    def __init__(self, store: ArtifactStore, act: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._act = act
        self.acted = False

    async def __call__(self, call: Callable[[], Awaitable[Value]]) -> Value:
        if not self.acted and self._store.exists("acme", X):
            self.acted = True
            await self._act()
        return await call()


async def test_bytes_stored_and_not_yet_submitted_outlive_the_deletion_of_the_same_content(
    database: Database, store: ArtifactStore, tmp_path: Path
) -> None:
    intake = await intake_for(database, store)
    mine, theirs = (write(tmp_path / name, tides="tide table") for name in ("mine", "theirs"))
    receipts: list[Any] = []

    async def take_in_and_delete() -> None:
        (taken,) = await take_in(intake, Files(theirs))
        assert taken.document_id is not None
        receipts.append(await delete_document(database, store, taken.document_id, actor="ann"))

    patience = Interleaved(store, take_in_and_delete)
    (taken,) = await take_in(intake, Files(mine), patience=patience)
    assert patience.acted
    assert taken.result is Result.CREATED
    assert store.read("acme", X) == b"tide table"
    assert (receipts[0].artifacts, receipts[0].artifacts_waiting) == (0, 1)


@pytest.mark.parametrize("earlier", ["done with", "failed"])
async def test_nothing_is_leased_after_a_batch_whatever_became_of_it(
    database: Database, store: ArtifactStore, tmp_path: Path, earlier: str
) -> None:
    intake = await intake_for(database, store)
    one, copy = write(tmp_path / "one", tides="tide table"), write(tmp_path / "two", tides="tide table")
    results = [taken.result for folder in (one, copy) for taken in await take_in(intake, Files(folder))]
    assert results == [Result.CREATED, Result.DUPLICATE]
    if earlier == "failed":
        await Worker(database, [UNREADABLE], pace=QUICK).run(until_idle=True)
    assert [taken.result for taken in await take_in(intake, Files(one))] == [Result.UNCHANGED]
    assert await database.fetchval("select count(*) from holdfast.artifact_lease") == 0
