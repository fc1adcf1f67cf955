"""Jobs that were taken over go on: documents come to their end, failures wait as their policy says."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App, open_for_worker
from holdfast.engine.classify import classify
from holdfast.engine.control import Control
from holdfast.engine.doctor import examine
from holdfast.engine.queue import Lane, Queue, Submission, submit
from holdfast.engine.selection import Selection
from holdfast.errors import Conflict, CorruptInput, NetworkTimeout, NotFound
from holdfast.settings import Settings
from tests.cli.library import BREAD, GATE
from tests.conftest import Clock
from tests.engine.scenario import until_someone_waits_for_a_lock
from tests.intake.web import respond, web
from tests.takeover.conftest import Installation

WAITS = """
select a.phase, a.outcome, round(extract(epoch from (a.error ->> 'retry_at')::timestamptz - a.ended_at)) as wait
from holdfast.pipeline_phase a where a.job_id = $1 order by a.token
"""

# The old installation had queued the last one once more: that try is still its due.
GRANTED = ((2, "retryable"), (9, "queued"))


@pytest.fixture
async def app(dsn: str, tmp_path: Path) -> AsyncIterator[App]:
    settings = Settings(database_url=dsn, home=tmp_path / "home", allowed_hosts=("127.0.0.1",), poll_seconds=0.05)
    async with open_for_worker(settings) as app:
        yield app


async def waits_of(old: Installation, key: int) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await old.database.fetch(WAITS, (await old.job(key))["id"])]


# Documents are embedded, and only this server has pgvector.
@pytest.mark.parametrize("server", ["embedded"], indirect=True)
async def test_documents_come_to_their_end_from_files_and_links(
    old: Installation, app: App, clock: Clock, tmp_path: Path
) -> None:
    folder = tmp_path / "old files"
    folder.mkdir()
    (folder / "gate.md").write_text(GATE)
    (tmp_path / "secret.md").write_text("# Not for us\n\nThe safe opens with seven turns.\n")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    async with web() as site:
        site.answers["/bread.md"] = respond(BREAD.encode(), Content_Type="text/markdown")
        site.answers["/slow"] = respond(status=503)
        await old.insert(
            {"id": 1, "status": "failed_parse", "state": "retryable", "source_url": "gate.md", "tenant_id": "acme"},
            {
                "id": 2,
                "status": "uploaded",
                "state": "queued",
                "source_url": site.url("/bread.md"),
                "tenant_id": "acme",
            },
            {
                "id": 3,
                "status": "failed_embedding",
                "state": "retryable",
                "retry_count": 1,
                "source_url": site.url("/slow"),
            },
            {"id": 4, "status": "chunking", "state": "queued", "source_url": "../secret.md"},
            {"id": 5, "status": "chunking", "state": "queued", "source_url": str(folder / "link.md")},
            {"id": 6, "status": "complete", "state": "done", "source_url": "gate.md"},
            {"id": 7, "status": "parsed", "state": "deadletter", "source_url": "gate.md"},
        )
        foretold = await old.check(files=folder)
        report = await old.run(files=folder)
        assert foretold.without_source == report.without_source == 2
        assert (await old.job(1))["status"] == "parse_queued"
        await clock.advance(minutes=10)
        await app.worker().run(until_idle=True)

    standing = {key: ((job := await old.job(key))["status"], job["state"]) for key in range(1, 8)}
    assert standing == {
        1: ("complete", "done"),
        2: ("complete", "done"),
        3: ("store", "failed"),
        4: ("store", "failed"),
        5: ("store", "failed"),
        6: ("complete", "done"),
        7: ("parsed", "deadletter"),
    }
    assert [await waits_of(old, key) for key in (3, 4)] == [[("store", "failed", 240)], [("store", "failed", None)]]
    assert (await old.job(4))["last_error"]["error_code"] == "NOTHING_TO_STORE"
    found = [await app.search.find(words, organisation="acme") for words in ("the lamp on the pier", "rye bread")]
    assert [one.hits[0].source_name for one in found] == ["gate.md", "bread.md"]
    assert await examine(old.database) == []
    with pytest.raises(Conflict, match=r"5 of the documents of public\.documents had work done since"):
        await old.undo()

    undone = await old.undo(discard_work=True)
    assert (undone.removed, undone.discarded, undone.kept) == (2, 5, 0)
    assert not (await app.search.find("the lamp on the pier", organisation="acme")).hits
    remaining = await old.database.fetch("select source_name, deleted_at is not null as gone from holdfast.document")
    assert [tuple(row) for row in remaining] == [("deleted", True)] * 5
    assert await examine(old.database) == []
    with pytest.raises(NotFound, match="there is nothing to undo"):
        await old.undo()
    # And once more from the beginning.
    assert (await old.run()).verified
    assert (await old.run()).taken == 7


async def test_patience_of_a_taken_job_is_doubling_until_it_is_used_up(old: Installation, clock: Clock) -> None:
    queue = Queue(old.database)
    await queue.register_worker("worker-1", host="test", pid=1, lanes=[])
    await old.insert({"id": 1, "status": "failed_parse", "state": "retryable", "last_error": {"error": "torn"}})
    await old.run()
    job = await old.job(1)
    waited = job["ready_at"] - job["submitted_at"]
    assert round(waited.total_seconds()) == 120

    lane = [Lane("documents", "store", 1)]
    for minutes in (2, 2, 4, 8):
        await clock.advance(minutes=minutes - 1)
        assert await queue.claim("worker-1", lane) == []
        await clock.advance(minutes=2)
        (attempt,) = await queue.claim("worker-1", lane)
        await queue.fail([(attempt, classify(NetworkTimeout("no answer")))])
    assert (await old.job(1))["state"] == "deadletter"
    assert await waits_of(old, 1) == [
        ("store", "failed", 120),
        ("store", "failed", 240),
        ("store", "failed", 480),
        ("store", "failed", None),
    ]
    assert await examine(old.database) == []


async def test_retries_of_before_count_and_an_operators_retry_starts_anew(old: Installation, clock: Clock) -> None:
    queue = Queue(old.database)
    await queue.register_worker("worker-1", host="test", pid=1, lanes=[])
    rows = ({"id": n, "status": "failed_parse", "state": state, "retry_count": n} for n, state in GRANTED)
    await old.insert(*rows, {"id": 3, "status": "failed_parse", "state": "deadletter", "retry_count": 3})
    await old.run()
    assert [(await old.job(key))["retry_count"] for key in (2, 9, 3)] == [2, 9, 0]
    assert await examine(old.database) == []

    await Control(old.database, "alice").retry(Selection(ids=((await old.job(3))["id"], (await old.job(2))["id"])))
    assert await examine(old.database) == []
    await clock.advance(minutes=9)
    for attempt in await queue.claim("worker-1", [Lane("documents", "store", 9)]):
        await queue.fail([(attempt, classify(NetworkTimeout("no answer")))])
    assert [(await old.job(key))["state"] for key in (2, 9, 3)] == ["failed", "deadletter", "failed"]
    assert await examine(old.database) == []


@pytest.mark.parametrize("used", [{"retry_count": 3}, {"last_error": {"error": "torn", "retry_count": 4}}])
async def test_who_has_used_all_retries_is_given_up(old: Installation, used: dict[str, Any]) -> None:
    await old.insert({"id": 1, "status": "failed_parse", "state": "retryable", **used})
    (foretold,) = (await old.check()).groups
    await old.run()

    job = await old.job(1)
    assert (job["state"], job["ready_at"], job["last_error"]["retryable"]) == ("deadletter", None, False)
    assert foretold.becomes_state == "deadletter"
    assert await examine(old.database) == []


@pytest.mark.parametrize(
    "error",
    [
        '{"error": "torn", "category": "corrupt_input"}',
        '{"error": "refused", "category": "content_policy", "retryable": null}',
        '{"error": "nul \\u0000 and half \\ud800 a pair", "number": 1e999, "retryable": false}',
    ],
)
async def test_what_cannot_pass_is_not_retried_by_itself(old: Installation, error: str) -> None:
    await old.database.execute(
        "insert into public.documents (id, status, state, last_error)"
        " values (1, 'failed_parse', 'retryable', $1::text::json)",
        error,
    )
    await old.run()

    job = await old.job(1)
    assert (job["state"], job["ready_at"], job["last_error"]["retryable"]) == ("failed", None, False)
    assert job["last_error"]["error"] in ("torn", "refused", "nul \ufffd and half \ufffd a pair")
    assert await examine(old.database) == []


async def test_with_an_input_a_job_goes_on_where_it_stood(old: Installation, clock: Clock) -> None:
    await old.database.execute("alter table public.documents add column input jsonb")
    await old.insert({"id": 1, "status": "chunks_stored", "state": "queued", "input": {"chunks": 3}})
    await old.insert({"id": 2, "status": "complete", "state": "done"})
    # The doctor judges only what happened a minute after the pipeline was declared.
    await clock.advance(minutes=2)
    await old.run()
    await old.database.execute("update holdfast.pipeline_job set finished_at = holdfast.clock() where state = 'done'")
    assert await examine(old.database) == []
    queue = Queue(old.database)
    await queue.register_worker("worker-1", host="test", pid=1, lanes=[])
    (attempt,) = await queue.claim("worker-1", [Lane("documents", "embed", 1)])

    assert attempt.input == {"chunks": 3}
    await queue.fail([(attempt, classify(CorruptInput("torn")))])
    assert await examine(old.database) == []


async def test_what_others_refer_to_is_kept_and_called_off(old: Installation) -> None:
    rows = ({"id": n, "status": "parsed", "state": "queued", "content_hash": f"h{n}"} for n in range(3))
    await old.insert(*rows, {"id": 3, "status": "chunking", "state": "working", "content_hash": "h3"})
    await old.run()
    again = [Submission(organisation="acme", content_hash=content) for content in ("h1", "h3")]
    assert [one.result for one in await submit(old.database, "documents", again)] == ["duplicate"] * 2

    undone = await old.undo()
    assert (undone.removed, undone.kept) == (2, 2)
    jobs = await old.database.fetch("select state, flow from holdfast.pipeline_job order by id")
    assert [tuple(row) for row in jobs] == [("cancelled", "new")] * 2 + [("done", "new")] * 2
    assert await examine(old.database) == []


async def test_what_is_claimed_while_it_is_undone_stays(old: Installation) -> None:
    queue = Queue(old.database)
    await queue.register_worker("worker-1", host="test", pid=1, lanes=[])
    await old.insert(*({"id": n, "status": "parsed", "state": "queued"} for n in range(30)))
    await old.run()
    async with old.database.transaction() as connection:
        # Undoing waits for this one, and has looked at all of them and locked none: now others are claimed.
        await connection.execute("select from holdfast.pipeline_job order by id limit 1 for update")
        undoing = asyncio.create_task(old.undo())
        await until_someone_waits_for_a_lock(old.database)
        claimed = await queue.claim("worker-1", [Lane("documents", "store", 10)])
    with pytest.raises(Conflict, match="worked on meanwhile"):
        await undoing

    assert len(claimed) == 10
    left = await old.database.fetch("select id from holdfast.pipeline_job")
    assert {row["id"] for row in left} == {attempt.job_id for attempt in claimed}
