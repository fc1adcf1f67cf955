"""What dead workers left on disk is offered to the database, and what nobody can read stops nobody."""

import asyncio
import threading
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from holdfast.assembly import Assembly
from holdfast.db.connection import Database
from holdfast.engine.journal import AFTER_SECONDS, INSTALLATION, Journal
from holdfast.event_loop import THREADS, in_reserved_thread
from holdfast.settings import Settings

BREAK_ON_FAIL = """
alter function holdfast.fail(jsonb) rename to fail_kept;
create function holdfast.fail(p_items jsonb) returns table (result text) language plpgsql as $$
begin raise exception 'could not read block 7' using errcode = 'XX000'; end $$;
"""
MEND_FAIL = """
drop function holdfast.fail(jsonb);
alter function holdfast.fail_kept(jsonb) rename to fail;
"""


async def test_what_cannot_be_read_is_set_aside_and_the_rest_is_offered(database: Database, tmp_path: Path) -> None:
    folder = tmp_path / str(await database.fetchval(INSTALLATION)) / "1-dead"
    folder.mkdir(parents=True)
    (folder / "verb_of_a_newer_version-1.json").write_text("[]")
    (folder / "settle-2.json").write_bytes(b"\xff\xfe")
    (folder / "settle-3.json").write_text("[]")
    await Journal(tmp_path).replay(database)
    assert sorted(path.name for path in folder.iterdir() if path.name != "lock") == [
        "settle-2.refused",
        "verb_of_a_newer_version-1.refused",
    ]


async def test_entry_that_breaks_the_server_every_time_keeps_no_other_waiting(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / str(await database.fetchval(INSTALLATION)) / "1-dead"
    folder.mkdir(parents=True)
    await database.execute(BREAK_ON_FAIL)
    (folder / "fail-1.json").write_text("[]")
    (folder / "settle-2.json").write_text("[]")
    async with asyncio.timeout(60):
        await Journal(tmp_path).replay(database)
    left = [path for path in folder.iterdir() if path.name != "lock"]
    assert [path.name for path in left] == ["fail-1.json"]
    (said,) = [record for record in caplog.records if record.message == "journal.set_aside"]
    assert said.__dict__["path"] == str(left[0])
    await database.execute(MEND_FAIL)
    await Journal(tmp_path).replay(database)
    assert not folder.exists()


async def test_what_a_neighbour_leaves_is_offered_while_others_live(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Journal(tmp_path)
    await journal.replay(database)
    folder = tmp_path / str(await database.fetchval(INSTALLATION)) / "1-dead"
    folder.mkdir(parents=True)
    (folder / "settle-1.json").write_text('[{"job_id": 7, "token": 1, "cost_usd": 0.1, "phase": "ask"}]')
    await journal.adopt(database, within_seconds=60)
    assert not folder.exists()
    (said,) = [record.__dict__ for record in caplog.records if record.message == "journal.replayed"]
    assert (said["job"], said["phase"], said["result"]) == (7, "ask", "stale")


async def test_result_is_kept_once_the_disk_has_room_again(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = tmp_path / "journal"
    journal = Journal(root)
    await journal.replay(database)
    root.write_text("where a folder should be")
    finished = asyncio.Event()
    item = {"job_id": 7, "token": 1, "phase": "ask"}
    guard = asyncio.create_task(journal.guard(lambda: ("settle", [item]), finished.wait()))
    async with asyncio.timeout(60):
        while not caplog.records:
            await asyncio.sleep(0.05)
        root.unlink()
        while not _kept(root):
            await asyncio.sleep(0.05)
    assert journal.kept == (1, _kept(root)[0].parent)
    finished.set()
    await guard
    assert (_kept(root), journal.kept[0]) == ([], 0)
    said = caplog.records[0].__dict__
    assert (said["message"], said["job"], said["phase"]) == ("journal.not_kept", 7, "ask")
    assert "paid for again" in said["meaning"]


async def test_nobody_else_can_read_what_is_kept(database: Database, tmp_path: Path) -> None:
    root = tmp_path / "journal"
    root.mkdir(mode=0o755)
    journal, finished = Journal(root), asyncio.Event()
    await journal.replay(database)
    guard = asyncio.create_task(journal.guard(lambda: ("settle", []), finished.wait()))
    async with asyncio.timeout(60):
        while not _kept(root):
            await asyncio.sleep(0.05)
    modes = {path.is_dir(): path.stat().st_mode & 0o777 for path in (root, *root.rglob("*"))}
    finished.set()
    await guard
    assert modes == {True: 0o700, False: 0o600}


async def test_built_in_phases_keep_answers_in_the_journal_of_their_worker(database: Database, tmp_path: Path) -> None:
    async with AsyncExitStack() as resources:
        assembly = Assembly(Settings(home=tmp_path), database, resources)
        assert assembly.with_database(database.patient).journal is assembly.journal


async def test_disk_that_hangs_keeps_no_name_look_up_waiting(database: Database, tmp_path: Path) -> None:
    journal, go_on = Journal(tmp_path), threading.Event()
    await journal.replay(database)

    class Slow(dict[str, Any]):
        """Takes as long to be written down as a disk that hangs."""

        def items(self) -> Any:
            go_on.wait()
            return super().items()

    finished = asyncio.Event()
    guards = [
        asyncio.create_task(journal.guard(lambda: ("settle", Slow(a=1)), finished.wait())) for _ in range(THREADS + 1)
    ]
    try:
        await asyncio.sleep(AFTER_SECONDS * 1.5)
        async with asyncio.timeout(10):
            assert await in_reserved_thread(lambda: 7) == 7
    finally:
        go_on.set()
        finished.set()
        await asyncio.gather(*guards)


async def test_folder_is_not_taken_for_abandoned_while_it_is_made(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Another worker looks for abandoned folders in the very moment in which this one makes its own."""
    journal, loop, make = Journal(tmp_path), asyncio.get_running_loop(), Path.mkdir
    await journal.replay(database)

    def make_and_be_seen(path: Path, *args: Any, **options: Any) -> None:
        make(path, *args, **options)
        if threading.current_thread() is not threading.main_thread():
            asyncio.run_coroutine_threadsafe(Journal(tmp_path).replay(database), loop).result(30)

    monkeypatch.setattr(Path, "mkdir", make_and_be_seen)
    finished = asyncio.Event()
    guard = asyncio.create_task(journal.guard(lambda: ("settle", []), finished.wait()))
    async with asyncio.timeout(60):
        while not (kept := _kept(tmp_path)) and not caplog.records:
            await asyncio.sleep(0.05)
    finished.set()
    await guard
    assert (len(kept), caplog.records) == (1, [])


def _kept(root: Path) -> list[Path]:
    return list(root.glob("*/*/settle-*.json"))
