"""A watched folder reports each change once, when the file has been quiet."""

import asyncio
from pathlib import Path

from holdfast.intake.sources.watch import Quiet, changes

A, B = Path("/a"), Path("/b")


def test_file_is_reported_once_it_has_been_quiet() -> None:
    quiet = Quiet(1.0)
    assert quiet.settled({A: (1, 10)}, at_seconds=0.0) == []
    assert quiet.settled({A: (1, 10)}, at_seconds=0.9) == []
    assert quiet.settled({A: (1, 10)}, at_seconds=1.0) == [A]
    assert quiet.settled({A: (1, 10)}, at_seconds=9.0) == []


def test_file_still_being_written_waits() -> None:
    quiet = Quiet(1.0)
    for tick in range(5):
        assert quiet.settled({A: (tick, tick)}, at_seconds=tick * 0.9) == []
    assert quiet.settled({A: (4, 4)}, at_seconds=5.0) == [A]


def test_change_of_size_or_time_is_reported_again() -> None:
    quiet = Quiet(0.0)
    assert quiet.settled({A: (1, 10)}, at_seconds=0.0) == [A]
    assert quiet.settled({A: (1, 11)}, at_seconds=1.0) == [A]
    assert quiet.settled({A: (2, 11)}, at_seconds=2.0) == [A]


def test_files_do_not_wait_for_each_other() -> None:
    quiet = Quiet(1.0)
    assert quiet.settled({A: (1, 1)}, at_seconds=0.0) == []
    assert quiet.settled({A: (1, 1), B: (1, 1)}, at_seconds=1.0) == [A]
    assert quiet.settled({A: (1, 1), B: (1, 1)}, at_seconds=2.0) == [B]


def test_file_that_went_and_came_back_is_reported_again() -> None:
    quiet = Quiet(0.0)
    assert quiet.settled({A: (1, 1)}, at_seconds=0.0) == [A]
    assert quiet.settled({}, at_seconds=1.0) == []
    assert quiet.settled({A: (1, 1)}, at_seconds=2.0) == [A]


def test_change_undone_before_it_settled_is_no_change() -> None:
    quiet = Quiet(1.0)
    quiet.settled({A: (1, 1)}, at_seconds=0.0)
    assert quiet.settled({A: (1, 1)}, at_seconds=1.0) == [A]
    assert quiet.settled({A: (2, 2)}, at_seconds=2.0) == []
    assert quiet.settled({A: (1, 1)}, at_seconds=3.0) == []


async def test_watching_yields_what_is_there_and_then_what_changes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    async with asyncio.timeout(20):
        watching = changes([tmp_path], every_seconds=0.01, quiet_seconds=0.02)
        assert [found.name for found in await anext(watching)] == ["a.txt"]
        (tmp_path / "b.txt").write_text("two")
        (tmp_path / ".hidden").write_text("three")
        assert [found.name for found in await anext(watching)] == ["b.txt"]
        (tmp_path / "a.txt").write_text("longer than before")
        (found,) = await anext(watching)
        assert found.location == (tmp_path / "a.txt").as_uri()
        await watching.aclose()


async def test_folders_of_our_own_are_not_watched(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "server.log").write_text("ready")
    (tmp_path / "a.txt").write_text("one")
    async with asyncio.timeout(20):
        watching = changes([tmp_path], own=[tmp_path / "state"], every_seconds=0.01, quiet_seconds=0.02)
        assert [found.name for found in await anext(watching)] == ["a.txt"]
        await watching.aclose()


async def test_folder_that_is_away_for_a_moment_is_watched_when_it_is_back(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "share", tmp_path / "elsewhere"
    folder.mkdir()
    (tmp_path / "near").mkdir()
    (folder / "a.txt").write_text("one")
    async with asyncio.timeout(20):
        watching = changes([folder, tmp_path / "near"], every_seconds=0.01, quiet_seconds=0.02)
        assert [found.name for found in await anext(watching)] == ["a.txt"]
        folder.rename(elsewhere)
        (tmp_path / "near" / "b.txt").write_text("two")
        assert [found.name for found in await anext(watching)] == ["b.txt"]
        elsewhere.rename(folder)
        assert [found.name for found in await anext(watching)] == ["a.txt"]
        await watching.aclose()
