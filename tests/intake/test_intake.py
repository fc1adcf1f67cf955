"""Documents are taken in once: stored, recognised, and queued in one step."""

import asyncio
import io
import os
import threading
import tracemalloc
from hashlib import sha256
from pathlib import Path

import pytest

from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database, connect
from holdfast.engine.control import Control
from holdfast.engine.patience import insist
from holdfast.engine.selection import Selection
from holdfast.engine.worker import Worker
from holdfast.errors import InvalidInput, NotFound, StorageUnavailable
from holdfast.intake.found import Found
from holdfast.intake.intake import Intake, Result, Taken
from holdfast.intake.sources.files import Files
from holdfast.intake.sources.links import linked
from holdfast.intake.sources.stdin import piped
from holdfast.settings import Settings
from tests.engine.working import QUICK
from tests.intake.documents import DOCUMENTS, documents, intake_for, results, store_in, take_in, write
from tests.proxy import Proxy


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return store_in(tmp_path)


@pytest.fixture
async def intake(database: Database, store: ArtifactStore) -> Intake:
    return await intake_for(database, store)


async def test_file_is_stored_sniffed_and_queued(
    database: Database, intake: Intake, store: ArtifactStore, tmp_path: Path
) -> None:
    (tmp_path / "tides.txt").write_bytes(b"%PDF-1.7 high water")
    (taken,) = await take_in(intake, Files(tmp_path / "tides.txt"), metadata={"team": "pilots"}, priority=3)
    artifact = Artifact(sha256(b"%PDF-1.7 high water").hexdigest(), 19)
    row = await database.fetchrow(
        "select d.*, j.id as job_id, j.state, j.phase, j.priority, j.input, u.kind, u.hash"
        " from holdfast.document d join holdfast.pipeline_job j on j.document_id = d.id"
        " join holdfast.artifact_use u on u.document_id = d.id"
    )
    assert row is not None
    assert (taken.result, taken.document_id, taken.job_id) == (Result.CREATED, row["id"], row["job_id"])
    assert (row["state"], row["phase"], row["priority"]) == ("queued", "store", 3)
    assert row["input"] == {"original": artifact.to_json(), "media_type": "application/pdf", "name": "tides.txt"}
    assert (row["source_name"], row["source_platform"]) == ("tides.txt", "file")
    assert (row["source_location"], row["content_hash"]) == ((tmp_path / "tides.txt").as_uri(), artifact.hash)
    assert (row["metadata"], row["kind"], row["hash"]) == ({"team": "pilots"}, "original", artifact.hash)
    assert store.read("acme", artifact) == b"%PDF-1.7 high water"


async def test_unchanged_folder_is_recognised_and_nothing_is_written(
    database: Database, intake: Intake, tmp_path: Path
) -> None:
    folder = write(tmp_path / "library", a="one", b="two", c="")
    first = await take_in(intake, Files(folder))
    before = await _fingerprint(database, tmp_path)
    again = await take_in(intake, Files(folder))
    assert results(again) == [("a.txt", "unchanged"), ("b.txt", "unchanged"), ("c.txt", "unchanged")]
    assert [(item.document_id, item.job_id) for item in again] == [(item.document_id, item.job_id) for item in first]
    assert {item.state for item in again} == {"queued"}
    assert await _fingerprint(database, tmp_path) == before


async def test_changed_file_is_a_new_version_and_the_others_are_left_alone(
    database: Database, intake: Intake, tmp_path: Path
) -> None:
    folder = write(tmp_path / "library", a="one", b="two")
    await take_in(intake, Files(folder))
    write(folder, b="TWO")
    assert results(await take_in(intake, Files(folder))) == [("a.txt", "unchanged"), ("b.txt", "created")]
    locations = [row["source_location"] for row in await documents(database)]
    assert locations.count((folder / "b.txt").as_uri()) == 2
    assert results(await take_in(intake, Files(folder))) == [("a.txt", "unchanged"), ("b.txt", "unchanged")]


async def test_what_is_said_of_an_unchanged_file_is_merged_and_nothing_runs(
    database: Database, intake: Intake, tmp_path: Path
) -> None:
    folder = write(tmp_path / "library", a="one", b="two")
    await take_in(intake, Files(folder), metadata={"team": "a", "year": 1})
    await database.execute(
        "update holdfast.document set metadata = metadata || '{\"pages\": 3}', found_out = '{pages}'"
    )
    again = await take_in(intake, Files(folder / "a.txt"), metadata={"year": 2, "pages": "said"})
    repeated = await take_in(intake, Files(folder), metadata={"year": 2})
    said = [row["metadata"] for row in await documents(database)]
    assert [(one.result, one.metadata_merged) for one in again] == [(Result.UNCHANGED, True)]
    assert [one.metadata_merged for one in repeated] == [False, True]
    assert said == [{"team": "a", "year": 2, "pages": 3}] * 2
    assert await database.fetchval("select count(*) from holdfast.pipeline_job") == 2


async def test_what_is_said_of_an_unchanged_archive_is_said_of_its_members(
    database: Database, intake: Intake, tmp_path: Path
) -> None:
    folder = write(tmp_path / "library", box="one", member="two", stranger="three")
    box, member, _ = await take_in(intake, Files(folder))
    await database.execute(
        "update holdfast.document set parent_id = $1 where id = $2", box.document_id, member.document_id
    )
    await take_in(intake, Files(folder / "box.txt"), metadata={"team": "a"})
    assert [row["metadata"] for row in await documents(database)] == [{"team": "a"}, {"team": "a"}, {}]


async def test_a_call_repeated_under_its_key_says_nothing_anew(
    database: Database, intake: Intake, tmp_path: Path
) -> None:
    at = f"file://{tmp_path}/a.txt"

    async def send(key: str | None, year: int) -> bool:
        found = Found(name="a.txt", platform="file", location=at, content=io.BytesIO(b"one"), key=key)
        (taken,) = await take_in(intake, [found], metadata={"year": year})
        return taken.metadata_merged

    assert [await send("k", 1), await send(None, 2), await send("k", 1)] == [False, True, False]
    assert [row["metadata"] for row in await documents(database)] == [{"year": 2}]


async def test_same_content_elsewhere_is_a_duplicate_and_recognised_there_too(
    database: Database, intake: Intake, tmp_path: Path
) -> None:
    folder = write(tmp_path / "library", a="same", b="same")
    first, second = await take_in(intake, Files(folder))
    assert (first.result, second.result) == (Result.CREATED, Result.DUPLICATE)
    assert [row["duplicate_of"] for row in await documents(database)] == [None, first.document_id]
    again = await take_in(intake, Files(folder))
    assert {item.result for item in again} == {Result.UNCHANGED}
    assert {item.job_id for item in again} == {first.job_id}


async def test_content_that_went_on_answering_from_another_location_is_recognised_there(
    database: Database, intake: Intake, tmp_path: Path
) -> None:
    folder = write(tmp_path / "library", a="same", b="same")
    await _take_in_and_publish(database, intake, folder)
    write(folder, a="other")
    assert results(await _take_in_and_publish(database, intake, folder)) == [
        ("a.txt", "created"),
        ("b.txt", "unchanged"),
    ]
    assert results(await take_in(intake, Files(folder))) == [("a.txt", "unchanged"), ("b.txt", "unchanged")]
    write(folder, a="same")
    assert results(await _take_in_and_publish(database, intake, folder)) == [
        ("a.txt", "duplicate"),
        ("b.txt", "unchanged"),
    ]
    assert results(await take_in(intake, Files(folder))) == [("a.txt", "unchanged"), ("b.txt", "unchanged")]


async def test_old_version_that_is_finished_late_is_not_what_stands_there(
    database: Database, intake: Intake, tmp_path: Path
) -> None:
    folder = write(tmp_path / "library", a="one")
    (old,) = await take_in(intake, Files(folder))
    write(folder, a="two")
    await take_in(intake, Files(folder))
    await database.execute("select holdfast.publish_document($1)", old.document_id)
    assert results(await take_in(intake, Files(folder))) == [("a.txt", "unchanged")]


class _Slow(io.BytesIO):
    """A file that takes its time: it can be read to its end only when someone says so."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.begun, self.may_end = threading.Event(), threading.Event()

    def read(self, size: int | None = -1, /) -> bytes:
        self.begun.set()
        assert self.may_end.wait(60)
        return super().read(size)


async def test_what_was_read_earlier_never_replaces_what_was_read_later(database: Database, intake: Intake) -> None:
    slow = _Slow(b"old")
    at = {"name": "a.txt", "platform": "upload", "location": "https://example.com/a.txt"}
    reading = asyncio.create_task(take_in(intake, [Found(content=slow, **at)]))  # type: ignore[arg-type]
    await asyncio.to_thread(slow.begun.wait, 60)
    (new,) = await take_in(intake, [Found(content=io.BytesIO(b"new"), **at)])  # type: ignore[arg-type]
    slow.may_end.set()
    (old,) = await reading
    for taken in (new, old):
        await database.execute("select holdfast.publish_document($1)", taken.document_id)
    answering = "select id from holdfast.document where searchable_at is not null and superseded_at is null"
    assert await database.fetchval(answering) == new.document_id
    assert results(await take_in(intake, [Found(content=io.BytesIO(b"new"), **at)])) == [("a.txt", "unchanged")]  # type: ignore[arg-type]


@pytest.mark.parametrize("organisation", ["", "x" * 300])
async def test_what_is_no_organisation_is_refused_before_anything_is_stored(
    intake: Intake, tmp_path: Path, organisation: str
) -> None:
    folder = write(tmp_path / "library", a="one")
    with pytest.raises(InvalidInput, match="organisation"):
        await take_in(intake, Files(folder), organisation)
    assert list((tmp_path / "store").iterdir()) == []


async def test_same_content_of_another_organisation_is_its_own(intake: Intake, tmp_path: Path) -> None:
    folder = write(tmp_path / "library", a="same")
    assert results(await take_in(intake, Files(folder), "acme")) == [("a.txt", "created")]
    assert results(await take_in(intake, Files(folder), "bolt")) == [("a.txt", "created")]


async def test_unchanged_document_that_failed_says_so(database: Database, intake: Intake, tmp_path: Path) -> None:
    folder = write(tmp_path / "library", a="one")
    (first,) = await take_in(intake, Files(folder))
    await database.execute("update holdfast.pipeline_job set state = 'failed'")
    (again,) = await take_in(intake, Files(folder))
    assert (again.result, again.state, again.job_id) == (Result.UNCHANGED, "failed", first.job_id)


async def test_cancelled_document_is_taken_in_again(database: Database, intake: Intake, tmp_path: Path) -> None:
    folder = write(tmp_path / "library", a="one")
    (first,) = await take_in(intake, Files(folder))
    assert first.job_id is not None
    await Control(database, "ann").cancel(Selection(ids=(first.job_id,)), reason="wrong folder")
    (again,) = await take_in(intake, Files(folder))
    assert (again.result, again.document_id != first.document_id) == (Result.CREATED, True)
    assert again.job_id != first.job_id


async def test_piped_content_is_known_by_content_only(intake: Intake) -> None:
    taken = []
    for content in (b"one", b"two", b"one"):
        reading, writing = os.pipe()
        os.write(writing, content)
        os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            taken += await take_in(intake, [piped(stream, name="notes.md")])
    assert [item.result for item in taken] == [Result.CREATED, Result.CREATED, Result.DUPLICATE]


async def test_what_is_too_large_or_cannot_be_read_is_told_and_the_rest_taken(
    database: Database, store: ArtifactStore, tmp_path: Path
) -> None:
    intake = await intake_for(database, store, most_bytes=10)
    folder = write(tmp_path / "library", a="short", b="much too long", c="gone", d="exact size")
    os.mkfifo(tmp_path / "pipe")
    (folder / "link.txt").symlink_to(folder / "a.txt")
    found = [*Files(folder), _found(tmp_path / "pipe"), _found(folder / "link.txt"), piped(io.BytesIO(b"x" * 11))]
    (folder / "c.txt").unlink()
    taken = await take_in(intake, found)
    assert [item.result for item in taken] == [
        Result.CREATED,
        Result.TOO_LARGE,
        Result.UNREADABLE,
        Result.CREATED,
        Result.UNREADABLE,
        Result.UNREADABLE,
        Result.TOO_LARGE,
    ]
    assert all(item.reason for item in taken if item.result is not Result.CREATED)
    assert len(await documents(database)) == 2


async def test_failing_store_ends_it_and_nothing_is_recorded(database: Database, tmp_path: Path) -> None:
    folder = write(tmp_path / "library", a="one")
    intake = await intake_for(database, store_in(tmp_path))
    (tmp_path / "store").rename(tmp_path / "away")
    (tmp_path / "store").write_text("a file where the folder was")
    with pytest.raises(StorageUnavailable):
        await take_in(intake, Files(folder))
    assert await documents(database) == []


async def test_unknown_pipeline_is_refused_and_leaves_only_an_unused_object(
    database: Database, store: ArtifactStore, tmp_path: Path
) -> None:
    folder = write(tmp_path / "library", a="one")
    with pytest.raises(NotFound, match="documents"):
        await take_in(Intake(database, store, most_bytes=10), Files(folder))
    assert await documents(database) == []
    assert store.exists("acme", Artifact(sha256(b"one").hexdigest(), 3))
    assert results(await take_in(await intake_for(database, store), Files(folder))) == [("a.txt", "created")]


async def test_link_is_recorded_without_being_followed(database: Database, intake: Intake) -> None:
    (taken,) = await take_in(intake, [linked("https://tides.invalid/table.pdf")])
    job = await database.fetchrow("select input, state from holdfast.pipeline_job where id = $1", taken.job_id)
    assert job is not None
    assert (job["input"], job["state"]) == ({"url": "https://tides.invalid/table.pdf"}, "queued")
    (document,) = await documents(database)
    assert (document["source_name"], document["content_hash"]) == ("table.pdf", None)


async def test_link_still_waiting_is_not_queued_twice_and_a_finished_one_is_followed_again(
    database: Database, intake: Intake
) -> None:
    links = [linked("https://tides.invalid/table.pdf")]
    (first,) = await take_in(intake, links)
    (second,) = await take_in(intake, links)
    assert (second.result, second.job_id, second.state) == (Result.EXISTING, first.job_id, "queued")
    await Worker(database, [DOCUMENTS], pace=QUICK).run(until_idle=True)
    (third,) = await take_in(intake, links)
    assert third.result is Result.CREATED


async def test_location_named_twice_is_taken_once(intake: Intake, tmp_path: Path) -> None:
    folder = write(tmp_path / "library", a="one")
    taken = await take_in(intake, [*Files(folder), *Files(folder / "a.txt")])
    assert results(taken) == [("a.txt", "created"), ("a.txt", "unchanged")]


async def test_many_files_are_answered_in_order(intake: Intake, tmp_path: Path) -> None:
    folder = write(tmp_path / "library", **{f"n{n:03}": f"content {n}" for n in range(130)})
    names = [f"n{n:03}.txt" for n in range(130)]
    assert results(await take_in(intake, Files(folder))) == [(name, "created") for name in names]
    assert results(await take_in(intake, Files(folder))) == [(name, "unchanged") for name in names]


async def test_two_who_take_in_the_same_folder_at_once_agree(
    database: Database, intake: Intake, tmp_path: Path
) -> None:
    folder = write(tmp_path / "library", **{f"n{n:02}": f"content {n}" for n in range(20)})
    forward = list(Files(folder))
    both = await asyncio.gather(take_in(intake, forward), take_in(intake, reversed(forward)))
    created = [item for taken in both for item in taken if item.result is Result.CREATED]
    assert len(created) == 20
    again = await take_in(intake, forward)
    assert {item.result for item in again} == {Result.UNCHANGED}


async def test_file_with_a_name_that_is_no_text_is_taken_in(intake: Intake, tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    assert results(await take_in(intake, Files(tmp_path / "library"))) == [("caf\ufffd.txt", "created")]
    assert results(await take_in(intake, Files(tmp_path / "library"))) == [("caf\ufffd.txt", "unchanged")]


async def test_large_file_is_never_whole_in_memory(database: Database, store: ArtifactStore, tmp_path: Path) -> None:
    intake = await intake_for(database, store, most_bytes=1 << 30)
    with (tmp_path / "large.txt").open("wb") as file:
        file.write(b"High water at six.\n" * 4_000_000)
    tracemalloc.start()
    try:
        taken = await take_in(intake, [*Files(tmp_path / "large.txt"), *Files(tmp_path / "large.txt")])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [item.result for item in taken] == [Result.CREATED, Result.UNCHANGED]
    assert peak < 16 << 20


@pytest.mark.parametrize("role", ["holdfast_worker", "holdfast_api"])
async def test_ordinary_roles_may_ask_what_stands_where(database: Database, role: str) -> None:
    async with database.transaction() as connection:
        await connection.execute(f"set local role {role}")
        rows = await connection.fetch("select * from holdfast.current_documents('acme', 'file', 'documents', '{x}')")
    assert rows == []


async def _take_in_and_publish(database: Database, intake: Intake, folder: Path) -> list[Taken]:
    """As if the new ones had gone through all phases."""
    taken = await take_in(intake, Files(folder))
    for item in taken:
        if item.result is Result.CREATED:
            await database.execute("select holdfast.publish_document($1)", item.document_id)
    return taken


def _found(path: Path) -> Found:
    return Found(name=path.name, platform="file", location=path.as_uri(), content=path)


async def _fingerprint(database: Database, folder: Path) -> tuple[object, ...]:
    """Everything that a taking in could change: rows, the rows' versions, and the store's files."""
    tables = ("document", "pipeline_job", "artifact", "artifact_use", "artifact_lease", "pipeline")
    rows = [
        [tuple(row) for row in await database.fetch(f"select xmin::text, ctid::text from holdfast.{table}")]
        for table in tables
    ]
    stored = sorted((str(path), path.stat().st_mtime_ns) for path in (folder / "store").rglob("*"))
    return (rows, stored)


@pytest.mark.parametrize("delivered", [True, False], ids=["answer lost", "question lost"])
async def test_who_waits_for_the_database_takes_in_once_although_the_commit_was_not_heard_of(
    dsn: str, database: Database, store: ArtifactStore, tmp_path: Path, *, delivered: bool
) -> None:
    folder = write(tmp_path / "notes", tides="high water", locks="two gates")
    found = [*Files(folder), linked("https://example.org/tides"), piped(io.BytesIO(b"read once"), name="piped.txt")]
    async with Proxy(dsn) as proxy, connect(Settings(database_url=proxy.dsn)) as through:
        intake = await intake_for(through, store)
        proxy.cut_at(b"COMMIT", delivered=delivered)
        taken = await take_in(intake, found, patience=insist)
        assert proxy.cuts == 1
    assert [one.result for one in taken] == [Result.CREATED] * 4
    stored = await database.fetch("select document_id, id from holdfast.pipeline_job order by id")
    assert [(one.document_id, one.job_id) for one in taken] == [tuple(row) for row in stored]
    assert len(await documents(database)) == 4
