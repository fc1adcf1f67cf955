"""The first phase: stored bytes are checked, links are followed, and what was known before ends there."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from holdfast.artifacts.store import ArtifactStore
from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.control import Control
from holdfast.engine.pipeline import Done, Pipeline
from holdfast.engine.queue import Lane, Queue
from holdfast.engine.selection import Selection
from holdfast.engine.worker import Worker
from holdfast.errors import StorageUnavailable
from holdfast.intake.fetching import Fetcher
from holdfast.intake.intake import Intake
from holdfast.intake.phase import Store
from holdfast.intake.sources.files import Files
from holdfast.intake.sources.links import linked
from holdfast.network.addresses import Guard
from tests.conftest import Clock
from tests.engine.working import QUICK
from tests.intake.documents import DOCUMENTS, MOST_BYTES, documents, intake_for, store_in, take_in, write
from tests.intake.web import Web, respond, web

JOBS = """
select id, document_id, phase, status, state, retry_count, input, last_error from holdfast.pipeline_job order by id
"""


@pytest.fixture
async def site() -> AsyncIterator[Web]:
    async with web() as site:
        yield site


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return store_in(tmp_path)


@pytest.fixture
def phase(database: Database, store: ArtifactStore, site: Web) -> Store:
    return Store(store, database, Fetcher(Guard(allowed=frozenset({site.host}))), most_bytes=MOST_BYTES)


@pytest.fixture
async def intake(database: Database, store: ArtifactStore) -> Intake:
    return await intake_for(database, store)


async def work_off(database: Database, phase: Store) -> list[dict[str, Any]]:
    store, *others = DOCUMENTS.phases
    pipeline: Pipeline = replace(DOCUMENTS, phases=(replace(store, handler=phase.run), *others))
    await Worker(database, [pipeline], pace=QUICK).run(until_idle=True)
    return [dict(row) for row in await database.fetch(JOBS)]


@pytest.mark.parametrize(
    ("content_type", "charset"),
    [
        ("text/html; charset=windows-1251", "windows-1251"),
        ('Text/HTML;Charset="Shift_JIS"', "Shift_JIS"),
        ("text/html", None),
        ("text/html; charset=", None),
    ],
)
async def test_charset_of_a_link_is_handed_on(
    database: Database, phase: Store, intake: Intake, site: Web, content_type: str, charset: str | None
) -> None:
    site.answers["/gate.html"] = respond(b"<html><p>Gate</p></html>", Content_Type=content_type)
    await take_in(intake, [linked(site.url("/gate.html"))])
    (job,) = await work_off(database, phase)
    assert job["input"].get("charset") == charset


async def test_stored_file_is_handed_on_as_it_came(
    database: Database, phase: Store, intake: Intake, tmp_path: Path
) -> None:
    await take_in(intake, Files(write(tmp_path / "library", a="one")))
    (job,) = await work_off(database, phase)
    artifact = {"hash": sha256(b"one").hexdigest(), "size": 3}
    assert (job["state"], job["status"]) == ("done", "complete")
    assert job["input"] == {"original": artifact, "media_type": "text/plain", "name": "a.txt"}


async def test_missing_artifact_is_noticed_and_tried_again(
    database: Database, phase: Store, intake: Intake, tmp_path: Path
) -> None:
    await take_in(intake, Files(write(tmp_path / "library", a="one")))
    for path in (tmp_path / "store").rglob(sha256(b"one").hexdigest()):
        path.unlink()
    (job,) = await work_off(database, phase)
    assert (job["state"], job["phase"]) == ("failed", "store")
    assert job["last_error"]["error_code"] == "ARTIFACT_MISSING"
    assert job["last_error"]["retryable"]


async def test_file_taken_in_again_brings_back_its_missing_artifact(
    database: Database, phase: Store, store: ArtifactStore, intake: Intake, tmp_path: Path
) -> None:
    files = Files(write(tmp_path / "library", a="one"))
    (first,) = await take_in(intake, files)
    for path in (tmp_path / "store").rglob(sha256(b"one").hexdigest()):
        path.unlink()
    await work_off(database, phase)
    (again,) = await take_in(intake, files)
    assert (again.result, again.job_id, again.state) == ("unchanged", first.job_id, "failed")
    assert first.job_id is not None
    await Control(database, "ann").retry(Selection(ids=(first.job_id,)))
    (job,) = await work_off(database, phase)
    assert job["status"] == "complete"


async def test_link_is_fetched_stored_and_recorded(
    database: Database, phase: Store, store: ArtifactStore, intake: Intake, site: Web
) -> None:
    body = b"<!doctype html><title>Tides</title>"
    site.answers["/page"] = respond(body, Content_Type="text/html", Content_Disposition="inline; filename=tides.html")
    await take_in(intake, [linked(site.url("/page"))], metadata={"team": "pilots"})
    (job,) = await work_off(database, phase)
    artifact = {"hash": sha256(body).hexdigest(), "size": len(body)}
    assert (job["state"], job["status"]) == ("done", "complete")
    assert job["input"] == {"original": artifact, "media_type": "text/html", "name": "tides.html"}
    (document,) = await documents(database)
    assert (document["source_name"], document["content_hash"]) == ("tides.html", artifact["hash"])
    assert document["metadata"] == {
        "team": "pilots",
        "fetched": {"url": site.url("/page"), "content_type": "text/html"},
    }
    assert await database.fetchval("select hash from holdfast.artifact_use where kind = 'original'") == artifact["hash"]
    assert list(store.list("acme")) != []


async def test_link_to_known_content_ends_as_duplicate_at_once(
    database: Database, phase: Store, intake: Intake, site: Web, tmp_path: Path
) -> None:
    (first,) = await take_in(intake, Files(write(tmp_path / "library", a="one")))
    site.answers["/copy"] = respond(b"one")
    await take_in(intake, [linked(site.url("/copy"))])
    _, job = await work_off(database, phase)
    assert (job["state"], job["status"], job["phase"]) == ("done", "duplicate", "store")
    _, document = await documents(database)
    assert (document["duplicate_of"], document["content_hash"]) == (first.document_id, sha256(b"one").hexdigest())


async def test_same_content_of_another_organisation_is_no_duplicate(
    database: Database, phase: Store, intake: Intake, site: Web, tmp_path: Path
) -> None:
    await take_in(intake, Files(write(tmp_path / "library", a="one")), "bolt")
    site.answers["/copy"] = respond(b"one")
    await take_in(intake, [linked(site.url("/copy"))], "acme")
    _, job = await work_off(database, phase)
    assert job["status"] == "complete"


async def test_link_followed_again_is_unchanged_or_a_new_version(
    database: Database, phase: Store, intake: Intake, site: Web
) -> None:
    for body in (b"one", b"one", b"two"):
        site.answers["/page"] = respond(body)
        await take_in(intake, [linked(site.url("/page"))])
        await work_off(database, phase)
    assert [job["status"] for job in await work_off(database, phase)] == ["complete", "duplicate", "complete"]


async def test_content_of_a_cancelled_document_runs_for_the_link(
    database: Database, phase: Store, intake: Intake, site: Web, tmp_path: Path
) -> None:
    await take_in(intake, Files(write(tmp_path / "library", a="one")))
    await database.execute("update holdfast.pipeline_job set state = 'cancelled', finished_at = holdfast.clock()")
    site.answers["/copy"] = respond(b"one")
    await take_in(intake, [linked(site.url("/copy"))])
    _, job = await work_off(database, phase)
    assert (job["state"], job["status"]) == ("done", "complete")


async def test_of_two_links_to_new_content_the_second_looks_again(
    database: Database, phase: Store, intake: Intake, site: Web
) -> None:
    site.answers |= {"/a": respond(b"one"), "/b": respond(b"one")}
    await take_in(intake, [linked(site.url("/a")), linked(site.url("/b"))])
    first, second = await _claim(database)
    looked = [(first, await phase.run(first)), (second, await phase.run(second))]
    assert [done.ends_as for _, done in looked] == [None, None]
    await _settle(database, *looked[0])
    with pytest.raises(StorageUnavailable) as failure:
        await _settle(database, *looked[1])
    assert failure.value.error_code == "CONTENT_RACE"
    await _settle(database, second, await phase.run(second))
    assert [row["duplicate_of"] for row in await documents(database)] == [None, first.document.id]


async def test_two_links_that_settle_in_the_same_moment_make_one_original(
    database: Database, phase: Store, intake: Intake, site: Web
) -> None:
    """The second waits for the first to commit, and then finds the content taken."""
    site.answers |= {"/a": respond(b"one"), "/b": respond(b"one")}
    await take_in(intake, [linked(site.url("/a")), linked(site.url("/b"))])
    first, second = await _claim(database)
    done_first, done_second = await phase.run(first), await phase.run(second)
    assert done_first.save is not None
    assert done_second.save is not None
    async with database.transaction() as one:
        await done_first.save(one)
        waiting = asyncio.create_task(_settle(database, second, done_second))
        await _until_someone_waits(database)
    with pytest.raises(StorageUnavailable):
        await waiting


async def test_original_that_goes_before_the_duplicate_settles_is_not_pointed_to(
    database: Database, phase: Store, intake: Intake, site: Web, tmp_path: Path
) -> None:
    await take_in(intake, Files(write(tmp_path / "library", a="one")))
    await database.execute("update holdfast.pipeline_job set priority = -1")
    site.answers["/copy"] = respond(b"one")
    await take_in(intake, [linked(site.url("/copy"))])
    (attempt,) = [attempt for attempt in await _claim(database) if attempt.document.source_platform == "url"]
    done = await phase.run(attempt)
    assert done.ends_as == "duplicate"
    await database.execute("update holdfast.document set deleted_at = holdfast.clock() where source_platform = 'file'")
    with pytest.raises(StorageUnavailable):
        await _settle(database, attempt, done)


@pytest.mark.parametrize(
    ("path", "code", "retryable"),
    [("/gone", "HTTP_404", False), ("/down", "HTTP_503", True), ("/inward", "ADDRESS_REFUSED", False)],
)
async def test_link_that_cannot_be_fetched_fails_with_its_reason(
    database: Database, phase: Store, intake: Intake, site: Web, path: str, code: str, retryable: bool
) -> None:
    site.answers["/down"] = respond(status=503)
    site.answers["/inward"] = respond(status=302, Location="http://169.254.169.254/")
    await take_in(intake, [linked(site.url(path))])
    (job,) = await work_off(database, phase)
    assert (job["state"], job["last_error"]["error_code"]) == ("failed", code)
    assert job["last_error"]["retryable"] is retryable


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("asked", "waits"),
    [
        ("3600", timedelta(hours=1)),
        ("5", timedelta(minutes=1)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", timedelta(days=1)),
    ],
)
async def test_link_waits_uncharged_for_as_long_as_its_site_asks(
    database: Database, phase: Store, intake: Intake, site: Web, status: int, asked: str, waits: timedelta
) -> None:
    site.answers["/busy"] = respond(status=status, Retry_After=asked)
    await take_in(intake, [linked(site.url("/busy")), linked(site.url("/gone"))])
    job, other = await work_off(database, phase)
    assert (job["state"], job["retry_count"]) == ("held", 0)
    assert other["last_error"]["error_code"] == "HTTP_404"
    row = await database.fetchrow(
        """
        select j.ready_at - a.ended_at as waits, holdfast.overview_next(j) as next
        from holdfast.pipeline_job j
        join holdfast.pipeline_phase a on a.id = j.retried_phase_id
        where j.id = $1
        """,
        job["id"],
    )
    assert row is not None
    assert row["waits"] == waits
    assert f"127.0.0.1 answered {status}: it asks to wait" in row["next"]


async def test_link_whose_site_asks_for_patience_goes_on_when_it_is_over(
    database: Database, phase: Store, intake: Intake, site: Web, clock: Clock
) -> None:
    site.answers["/busy"] = respond(status=429, Retry_After="3600")
    await take_in(intake, [linked(site.url("/busy"))])
    await work_off(database, phase)
    site.answers["/busy"] = respond(b"some text")
    await clock.advance(minutes=50)
    (job,) = await work_off(database, phase)
    assert (job["state"], len(site.requests)) == ("held", 1)
    await clock.advance(minutes=10)
    (job,) = await work_off(database, phase)
    assert (job["state"], len(site.requests)) == ("done", 2)


async def test_document_submitted_with_nothing_fails_for_good(database: Database, phase: Store, intake: Intake) -> None:
    await database.execute("""select holdfast.submit('documents', '[{"organisation": "acme"}]')""")
    (job,) = await work_off(database, phase)
    assert job["last_error"]["error_code"] == "NOTHING_TO_STORE"
    assert not job["last_error"]["retryable"]


async def test_fetched_content_leaves_nothing_in_the_temporary_folder(
    database: Database, phase: Store, intake: Intake, site: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    site.answers |= {"/small": respond(b"x"), "/large": respond(b"x" * (MOST_BYTES + 1))}
    await take_in(intake, [linked(site.url("/small")), linked(site.url("/large"))])
    assert [job["state"] for job in await work_off(database, phase)] == ["done", "failed"]
    assert not any((tmp_path / "temporary").iterdir())


async def _claim(database: Database) -> list[Attempt]:
    queue = Queue(database)
    await queue.register_worker("tester", host="here", pid=1, lanes=[Lane("documents", "store", 10)])
    attempts = await queue.claim("tester", [Lane("documents", "store", 10)])
    return sorted(attempts, key=lambda attempt: attempt.job_id)


async def _settle(database: Database, attempt: Attempt, done: Done) -> None:
    """As the worker does it."""
    assert done.save is not None
    async with database.transaction() as connection:
        await Queue(database).settle([(attempt, done)], connection)
        await done.save(connection)


async def _until_someone_waits(database: Database) -> None:
    waiting = (
        "select exists (select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database())"
    )
    async with asyncio.timeout(20):
        while not await database.fetchval(waiting):
            await asyncio.sleep(0.01)
