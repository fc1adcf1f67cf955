"""Old and new flow side by side: who carries which document, and what is shown of those that others carry."""

import asyncio
import hashlib
from typing import Any

import pytest

from holdfast.api.shapes import Job
from holdfast.engine.control import Control
from holdfast.engine.doctor import examine, repair
from holdfast.engine.queue import Lane, Queue, Submission, submit
from holdfast.engine.selection import Selection
from holdfast.errors import Conflict, NotFound
from holdfast.publish.removal import delete_document
from tests.cli.conftest import CommandLine
from tests.takeover.conftest import Installation

pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("old")]


def rows(count: int, status: str = "parsed", state: str = "queued") -> list[dict[str, Any]]:
    return [{"id": n, "status": status, "state": state, "source_url": f"https://old.example/{n}"} for n in range(count)]


def chosen_new(key: int, share: int = 20) -> bool:
    return int(hashlib.md5(str(key).encode()).hexdigest()[:8], 16) % 100 < share


async def flow_of(old: Installation, key: object) -> str:
    return str(await old.database.fetchval("select holdfast.flow_of('public.documents', $1)", str(key)))


async def test_larger_share_only_adds_and_says_so_beforehand(old: Installation) -> None:
    await old.insert(*rows(60))
    carried: set[str] = set()
    for share in (0, 20, 20, 70, 100):
        foretold = await old.check(share=share)
        report = await old.run(share=share)
        now = {key for key, flow in (await old.flows()).items() if flow == "new"}
        assert carried <= now
        assert (foretold.taken, foretold.old_flow) == (report.taken, report.old_flow) == (len(now), 60 - len(now))
        assert report.verified
        assert {key for key in map(str, range(60)) if await flow_of(old, key) == "new"} == now
        carried = now
    assert len(carried) == 60
    # What Holdfast has begun to carry stays with it, and that is said.
    for report in (await old.check(share=20), await old.run(share=20)):
        assert (report.taken, report.beyond_share) == (60, 60 - sum([chosen_new(n) for n in range(60)]))


async def test_flow_is_chosen_per_document_and_by_the_share_for_those_to_come(old: Installation) -> None:
    assert await flow_of(old, 1) == "old"
    await old.insert(*rows(3))
    await old.run(share=0, chosen={"1": "new"})
    assert await old.flows() == {"0": "old", "1": "new", "2": "old"}
    assert [await flow_of(old, key) for key in (0, 1, 2, 98)] == ["old", "new", "old", "old"]
    await old.run(chosen={"2": "new"})
    assert await old.flows() == {"0": "old", "1": "new", "2": "new"}


@pytest.mark.parametrize("option", ["--check", "--run"])
@pytest.mark.parametrize("key", ["4711", "4711x", "01"])
async def test_flow_of_a_key_that_no_row_has_is_refused(
    old: Installation, desk: CommandLine, option: str, key: str
) -> None:
    await old.insert(*rows(3))
    ended = await asyncio.to_thread(desk.run, "takeover", option, "--flow", "1=old", "--flow", f"{key}=old")

    assert (ended.code, ended.out) == (2, "")
    assert f'no row of public.documents has the key "{key}"' in ended.err
    assert await old.flows() == {}


@pytest.mark.parametrize(
    ("status", "state", "shown"),
    [
        ("parsed", "queued", "held"),
        ("failed_parse", "retryable", "failed"),
        ("complete", "done", "done"),
        ("chunking", "deadletter", "deadletter"),
    ],
)
async def test_who_is_chosen_for_the_old_flow_later_goes_back_to_it(
    old: Installation, desk: CommandLine, status: str, state: str, shown: str
) -> None:
    await old.insert(*rows(3, status, state))
    await old.run()
    before = await old.job(1)
    foretold = await asyncio.to_thread(desk.succeed, "takeover", "--check", "--flow", "1=old", "--json")
    assert await old.job(1) == before
    report = await asyncio.to_thread(desk.succeed, "takeover", "--run", "--flow", "1=old", "--json")

    for told in (foretold.json, report.json):
        assert (told["taken"], told["old_flow"], told["staying"], told["verified"]) == (2, 1, [], True)
    job = await old.job(1)
    assert (job["id"], job["flow"], job["state"], job["ready_at"]) == (before["id"], "old", shown, None)
    assert "retry_at" not in (job["last_error"] or {})
    assert [await flow_of(old, key) for key in range(3)] == ["new", "old", "new"]
    assert await examine(old.database) == []
    # And on again, and everything back.
    await old.run(chosen={"1": "new"})
    again = await old.job(1)
    assert (again["flow"], again["state"], again["phase"], again["input"]) == (
        "new",
        before["state"],
        before["phase"],
        before["input"],
    )
    assert (await old.undo()).removed == 3
    assert await old.database.fetchval("select count(*) from holdfast.document") == 0


async def test_what_the_old_installation_changed_goes_back_as_it_is_there(old: Installation) -> None:
    await old.insert(*rows(2))
    await old.run()
    await old.change(1, "chunking", "working")
    assert (await old.run()).changed == 1
    report = await old.run(chosen={"1": "old"})

    assert (report.changed, report.old_flow, report.verified) == (0, 1, True)
    job = await old.job(1)
    assert (job["status"], job["state"], job["phase"]) == ("chunking", "held", "chunk")


async def test_who_was_worked_on_cancelled_or_deleted_stays_and_that_is_said(
    old: Installation, desk: CommandLine
) -> None:
    queue = Queue(old.database)
    await queue.register_worker("worker-1", host="test", pid=1, lanes=[])
    await old.insert(*rows(4), {"id": 4, "status": "complete", "state": "done"})
    await old.run()
    assert await queue.claim("worker-1", [Lane("documents", "store", 1)])
    await Control(old.database, "alice").cancel(Selection(ids=((await old.job(1))["id"],)))
    await old.app.delete((await old.job(4))["document_id"], actor="alice")
    before = {key: await old.job(key) for key in (0, 1, 4)}
    flows = [word for key in (0, 1, 2, 4) for word in ("--flow", f"{key}=old")]
    staying = [
        {"key": "0", "reason": "it was worked on here"},
        {"key": "1", "reason": "it was cancelled here"},
        {"key": "4", "reason": "it was deleted here"},
    ]

    for option in ("--check", "--run"):
        told = (await asyncio.to_thread(desk.succeed, "takeover", option, *flows, "--json")).json
        assert (told["taken"], told["old_flow"], told["staying"], told["verified"]) == (4, 1, staying, True)
    assert {key: await old.job(key) for key in (0, 1, 4)} == before
    assert [await flow_of(old, key) for key in range(5)] == ["new", "new", "old", "new", "new"]
    words = (await asyncio.to_thread(desk.succeed, "takeover", "--run", "--share", "0")).out
    assert "0 stays with Holdfast: it was worked on here\n" in words
    assert "1 row beyond the share stays with Holdfast, which has begun to carry it\n" in words
    assert await examine(old.database) == []


@pytest.mark.parametrize("table", ["documents", "Public.Documents", '"public"."documents"'])
async def test_flow_is_told_however_the_table_is_written(old: Installation, table: str) -> None:
    await old.insert(*rows(1))
    await old.run()
    assert await old.database.fetchval("select holdfast.flow_of($1, '0')", table) == "new"


async def test_flow_of_a_table_that_nobody_takes_over_is_refused_and_of_one_undone_is_old(old: Installation) -> None:
    await old.insert(*rows(1))
    await old.run()
    for table in ("public.document", '"Documents"'):
        with pytest.raises(NotFound, match=r"no takeover is of a table public\."):
            await old.database.fetchval("select holdfast.flow_of($1, '0')", table)
    await old.undo()
    assert await flow_of(old, 0) == "old"


async def test_old_flow_is_shown_with_what_is_known_and_nobody_claims_it(old: Installation) -> None:
    queue = Queue(old.database)
    await queue.register_worker("worker-1", host="test", pid=1, lanes=[])
    await old.insert(
        {"id": 1, "status": "chunking", "state": "working", "file_name": "a.pdf", "tenant_id": "acme"},
        {
            "id": 2,
            "status": "failed_embedding",
            "state": "retryable",
            "last_error": {"error": "torn"},
            "tenant_id": "acme",
        },
    )
    await old.run(share=0)

    page = await old.app.overview.jobs(organisation="acme")
    shown = {job["status"]: (job["state"], job["flow"], job["phase"], job["next"]) for job in page["jobs"]}
    words = "nothing here: the old installation carries it, and has it as"
    assert shown == {
        "chunking": ("held", "old", "chunk", f"{words} chunking, working"),
        "embedding_queued": ("failed", "old", "embed", f"{words} failed_embedding, retryable"),
    }
    told = Job.read(page["jobs"][0])
    assert (told.flow, told.next) == ("old", page["jobs"][0]["next"])
    health = await old.app.overview.health()
    assert (health["held"], health["failed"], health["queued"]) == (1, 1, 0)
    lanes = [Lane("documents", phase, 10) for phase in ("store", "chunk", "embed")]
    assert await queue.claim("worker-1", lanes) == []
    assert await examine(old.database) == []
    assert await repair(old.database, actor="alice") == []


async def test_nobody_acts_on_what_the_old_installation_carries(old: Installation) -> None:
    await old.insert(
        *rows(2, "failed_parse", "retryable"), *({**row, "id": 7} for row in rows(1, "chunking", "working"))
    )
    await old.run(share=0)
    control = Control(old.database, "alice")
    everything = Selection(pipeline="documents")

    assert (await control.retry(everything)).counts == {"old_flow": 2}
    assert (await control.reset(everything)).counts == {"old_flow": 2}
    assert (await control.cancel(everything)).counts == {"old_flow": 3}
    job = await old.job(7)
    with pytest.raises(Conflict, match="the old installation carries document"):
        await delete_document(old.database, old.app.assembly.store, job["document_id"], actor="alice")
    with pytest.raises(Exception, match="old_flow_is_only_shown"):
        await old.database.execute("update holdfast.pipeline_job set state = 'queued' where id = $1", job["id"])


async def test_next_run_reads_what_the_old_flow_changed(old: Installation) -> None:
    await old.insert(*rows(5, "parsed", "working"))
    await old.run(share=0)
    first = [(await old.job(key))["id"] for key in range(5)]
    changes = [("complete", "done"), ("failed_chunking", "retryable"), ("chunking", "deadletter"), ("odd", "queued")]
    for key, (status, state) in enumerate(changes):
        await old.change(key, status, state)
    report = await old.run()

    jobs = [await old.job(key) for key in range(5)]
    assert [job["id"] for job in jobs] == first
    assert [(job["status"], job["state"], job["flow"]) for job in jobs] == [
        ("complete", "done", "old"),
        ("chunking", "failed", "old"),
        ("chunking", "deadletter", "old"),
        ("parsed", "held", "old"),
        ("parsed", "held", "old"),
    ]
    assert jobs[1]["last_error"]["component"] == "chunking"
    # One has a status that nobody knows now: what was known of it stays, and the counts say so.
    assert report.differences == [
        "status odd: 1 rows in the old table, 0 in the backup",
        "status parsed: 1 rows in the old table, 2 in the backup",
    ]
    await old.change(3, "parsed", "queued")
    assert (await old.run(share=100)).taken == 4
    moved = [await old.job(key) for key in range(5)]
    assert [(job["id"], job["state"], job["flow"]) for job in moved] == [
        (first[0], "done", "new"),
        (first[1], "failed", "new"),
        (first[2], "deadletter", "new"),
        (first[3], "queued", "new"),
        (first[4], "held", "old"),
    ]
    assert moved[1]["ready_at"] is not None
    assert (await old.run(workers_stopped=True)).taken == 5
    assert await examine(old.database) == []


async def test_what_the_old_installation_does_to_a_document_of_ours_is_told(old: Installation) -> None:
    await old.insert(*rows(3))
    await old.run()
    before = await old.job(1)
    await old.change(1, "complete", "done")

    for report in (await old.check(), await old.run()):
        assert (report.changed, report.taken, report.verified) == (1, 3, True)
    assert await old.job(1) == before
    await old.change(1, "parsed", "queued")
    assert (await old.run()).changed == 0


async def test_rows_that_left_the_old_table_stay_here_and_counts_agree(old: Installation) -> None:
    await old.insert(*rows(4))
    await old.run()
    await old.database.execute("delete from public.documents where id in (1, 2)")
    report = await old.run()

    assert (report.rows, report.verified) == (2, True)
    assert (await old.job(1))["state"] == "queued"


async def test_content_known_to_the_old_flow_is_not_paid_for_again(old: Installation) -> None:
    await old.insert({"id": 1, "status": "chunking", "state": "working", "content_hash": "abc", "tenant_id": "acme"})
    await old.run()
    (submitted,) = await submit(old.database, "documents", [Submission(organisation="acme", content_hash="abc")])

    assert submitted.result == "duplicate"
