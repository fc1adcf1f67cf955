"""Children that serve many documents: what they keep, what they never share, and when they are replaced."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from holdfast.engine import isolated_scratch
from holdfast.engine.isolated_children import Children
from holdfast.engine.isolated_lease import Child
from holdfast.engine.isolation import Limits
from holdfast.errors import (
    CorruptInput,
    InvalidInput,
    PhaseError,
    RateLimited,
    StorageUnavailable,
    TimedOut,
    UsageError,
)
from tests.engine import isolated_handlers as handlers
from tests.engine.isolated_traces import expect, nothing_left, processes_in, processes_with, wait_until

REPOSITORY = Path(__file__).parents[2]
SMALL = Limits(memory_mb=256, cpu_seconds=1, wall_seconds=60, output_mb=1, file_mb=1)


@pytest.fixture(autouse=True)
def _nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test must leave no scratch directory, no descriptor and no child once its children are closed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with nothing_left(tmp_path):
        yield


@pytest.fixture
async def two() -> AsyncIterator[Children]:
    """Room for two children."""
    async with Children(limits=SMALL, at_most=2) as children:
        yield children


async def _in_capitals(child: Child, text: str) -> str:
    """Have the child copy a file with this text in capitals; return what it wrote."""
    (child.desk / "input").write_text(text)
    await child.run(handlers.copy_in_capitals, str(child.hand_in("input").parent))
    return child.take_out("output").read_text()


async def count(children: Children, key: str = "acme") -> object:
    """How many calls the process that serves the next lease has seen; 1 tells of a fresh one."""
    async with children.child(key) as child:
        return await child.run(handlers.count_calls, None)


async def test_one_process_serves_lease_after_lease(two: Children) -> None:
    assert [await count(two) for _ in range(4)] == [1, 2, 3, 4]


async def test_process_is_replaced_after_its_uses() -> None:
    async with Children(limits=SMALL, at_most=1, uses=2) as children:
        assert [await count(children) for _ in range(5)] == [1, 2, 1, 2, 1]


async def test_each_key_has_a_process_of_its_own(two: Children) -> None:
    assert [await count(two, key) for key in ("acme", "other", "acme", "other")] == [1, 1, 2, 2]


async def test_idle_process_of_another_key_makes_room(tmp_path: Path) -> None:
    async with Children(limits=SMALL, at_most=1) as children:
        assert [await count(children, key) for key in ("acme", "other", "acme")] == [1, 1, 1]
        assert len(_scratches(tmp_path)) == 1


async def test_no_more_than_at_most_are_leased_at_once(two: Children, tmp_path: Path) -> None:
    leased, most_leased, most_scratches = 0, 0, 0

    async def work(number: int) -> None:
        nonlocal leased, most_leased, most_scratches
        async with two.child(f"key {number % 3}") as child:
            leased += 1
            await child.run(handlers.double, number)
            most_leased = max(most_leased, leased)
            most_scratches = max(most_scratches, len(_scratches(tmp_path)))
            leased -= 1

    await asyncio.gather(*(work(number) for number in range(9)))
    assert (most_leased, most_scratches) == (2, 2)


async def test_folder_is_new_for_each_lease_and_gone_after_it(two: Children) -> None:
    folders = []
    for text in ("one", "two"):
        async with two.child("acme") as child:
            assert list(child.folder.iterdir()) == list(child.desk.iterdir()) == []
            assert await _in_capitals(child, text) == text.upper()
            folders.append(child.folder)
    assert folders[0] != folders[1]
    assert not any(folder.exists() for folder in folders)


async def test_nothing_of_a_lease_is_left_for_the_next(two: Children) -> None:
    async with two.child("acme") as child:
        await _in_capitals(child, "text")
    async with two.child("acme") as child:
        assert await child.run(handlers.list_folder, ".") == [child.folder.name]


@pytest.mark.parametrize("plant", [handlers.plant_link, handlers.plant_folder_link])
async def test_link_in_the_folder_leads_the_worker_nowhere(
    two: Children, tmp_path: Path, plant: Callable[..., object]
) -> None:
    (tmp_path / "output").write_text("of another organisation")
    async with two.child("acme") as child:
        await child.run(plant, {"folder": str(child.folder), "target": str(tmp_path)})
        with pytest.raises(CorruptInput, match="output"):
            child.take_out("output")
        (child.desk / "input").write_text("text")
        child.hand_in("input")
    assert (tmp_path / "output").read_text() == "of another organisation"
    assert not (tmp_path / "input").exists()


@pytest.mark.parametrize("name", ["", "..", "../desk", "/etc/hostname", "a\0b"])
async def test_name_that_leads_out_of_the_folder_is_refused(two: Children, name: str) -> None:
    async with two.child("acme") as child:
        with pytest.raises(CorruptInput, match="not the name of a file"):
            child.take_out(name)


async def test_phase_error_leaves_the_process_in_use(two: Children) -> None:
    async with two.child("acme") as child:
        with pytest.raises(RateLimited, match="slow down"):
            await child.run(handlers.raise_rate_limited, None)
        assert await child.run(handlers.count_calls, None) == 1
    assert await count(two) == 2


async def test_unforeseen_error_replaces_the_process(two: Children) -> None:
    assert await count(two) == 1
    async with two.child("acme") as child:
        with pytest.raises(PhaseError, match="nobody expects this"):
            await child.run(handlers.raise_value_error, None)
    assert await count(two) == 1


@pytest.mark.parametrize(
    ("misbehave", "payload"),
    [
        (handlers.abort, None),
        (handlers.read_null, None),
        (handlers.exit_silently, None),
        (handlers.kill_itself, None),
        (handlers.loop_forever, None),
        (handlers.allocate_in_small_pieces, None),
        (handlers.return_megabytes, 2),
        (handlers.write_to_all_descriptors, "no frame at all"),
        (handlers.fork_many, 1_500),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_broken_process_is_replaced_and_its_neighbour_works_on(
    two: Children, misbehave: Callable[..., object], payload: object
) -> None:
    assert await count(two) == 1
    async with two.child("neighbour") as neighbour:
        assert await neighbour.run(handlers.count_calls, None) == 1
        async with two.child("acme") as child:
            with pytest.raises(PhaseError):
                await child.run(misbehave, payload)
        assert await count(two) == 1
        assert await neighbour.run(handlers.count_calls, None) == 2


async def test_call_past_its_own_wall_clock_is_stopped_and_its_process_replaced(two: Children) -> None:
    assert await count(two) == 1
    async with two.child("acme") as child:
        with pytest.raises(TimedOut, match=r"0\.3 s"):
            await child.run(handlers.sleep_long, None, wall_seconds=0.3)
    assert await count(two) == 1


async def test_next_call_of_a_lease_whose_process_broke_runs_in_a_fresh_one(two: Children) -> None:
    async with two.child("acme") as child:
        (child.folder / "input").write_text("kept")
        with pytest.raises(PhaseError):
            await child.run(handlers.abort, None)
        assert await child.run(handlers.count_calls, None) == 1
        assert (child.folder / "input").read_text() == "kept"


async def test_child_is_of_no_use_after_its_lease(two: Children) -> None:
    async with two.child("acme") as child:
        await child.run(handlers.double, 1)
    with pytest.raises(UsageError, match="not leased"):
        await child.run(handlers.double, 1)
    with pytest.raises(UsageError, match="lease of this child has ended"):
        child.take_out("output")


async def test_child_refuses_a_second_call_beside_the_first(two: Children) -> None:
    async with two.child("acme") as child, _asleep(child):
        with pytest.raises(UsageError, match="busy"):
            await child.run(handlers.double, 1)


async def test_payload_that_is_not_json_does_no_harm(two: Children) -> None:
    async with two.child("acme") as child:
        with pytest.raises(InvalidInput, match="not plain JSON"):
            await child.run(handlers.double, object())
        assert await child.run(handlers.double, 2) == 4


@pytest.mark.parametrize("prepared", [handlers.crash_unless_fresh, handlers.lack_memory_unless_fresh])
async def test_document_is_not_blamed_for_what_an_earlier_one_left(
    two: Children, prepared: Callable[..., object]
) -> None:
    assert await count(two) == 1
    async with two.child("acme") as child:
        (child.folder / "input").write_text("kept")
        assert await child.run(prepared, None) == "done"
        assert (child.folder / "input").read_text() == "kept"


async def test_progress_of_an_earlier_call_is_not_taken_for_this_one(two: Children) -> None:
    seen = list[float]()
    async with two.child("acme") as child:
        await child.run(handlers.keep_progress, None)
        assert await child.run(handlers.report_for_an_earlier_call, None, on_progress=seen.append) == "done"
    assert seen == [0.75]


async def test_processor_time_is_counted_for_each_call_and_a_process_replaced_when_its_life_is_spent() -> None:
    async with Children(limits=SMALL, at_most=1, uses=2) as children, children.child("acme") as child:
        counts = [await child.run(handlers.spend_processor_time, 0.7) for _ in range(4)]
    assert counts == [1, 2, 3, 1]


async def test_process_that_keeps_half_its_memory_is_replaced(two: Children) -> None:
    async with two.child("acme") as child:
        await child.run(handlers.keep_megabytes, 20)
    assert await count(two) == 1
    async with two.child("acme") as child:
        await child.run(handlers.keep_megabytes, 110)
    assert await count(two) == 1


@pytest.mark.parametrize("leave", [handlers.leave_grandchild, handlers.leave_daemon])
async def test_process_that_left_another_running_is_replaced(
    two: Children, tmp_path: Path, leave: Callable[..., object]
) -> None:
    mark = f"left-{tmp_path}"
    assert await count(two) == 1
    async with two.child("acme") as child:
        assert await child.run(leave, mark) == "left"
    assert processes_with(mark) == []
    assert await count(two) == 1


async def test_process_that_died_while_idle_is_replaced(two: Children, tmp_path: Path) -> None:
    assert await count(two) == 1
    for pid in processes_in(tmp_path):
        with suppress(ProcessLookupError):  # it ended with the one killed before it
            os.kill(pid, signal.SIGKILL)
    assert await count(two) == 1


async def test_process_that_nobody_needs_is_ended(tmp_path: Path) -> None:
    async with Children(limits=SMALL, at_most=1, idle_seconds=0.1) as children:
        assert await count(children) == 1
        while processes_in(tmp_path):
            await asyncio.sleep(0.02)
        assert await count(children) == 1


async def test_hidden_folder_is_not_seen_but_the_own_folder_in_it_is(tmp_path: Path) -> None:
    await expect("files")
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "artifacts" / "secret").write_text("of another organisation")
    absent = tmp_path / "absent"
    async with (
        Children(limits=SMALL, at_most=1, hidden=(tmp_path / "artifacts", tmp_path, absent)) as children,
        children.child("acme") as child,
    ):
        assert await _in_capitals(child, "own") == "OWN"
        assert await child.run(handlers.list_folder, str(tmp_path)) == [child.folder.parents[2].name]
    assert (tmp_path / "artifacts" / "secret").read_text() == "of another organisation"


async def test_child_cannot_look_behind_what_hides_a_folder(tmp_path: Path) -> None:
    await expect("files")
    hidden = tmp_path / "artifacts"
    hidden.mkdir()
    (hidden / "secret").write_text("of another organisation")
    async with Children(limits=SMALL, at_most=1, hidden=(hidden,)) as children, children.child("acme") as child:
        assert await child.run(handlers.unmount, str(hidden)) == []


async def test_child_does_not_see_the_scratch_of_others(two: Children) -> None:
    await expect("files")
    async with two.child("acme") as first, two.child("other") as second:
        for child in (first, second):
            root = child.folder.parents[1]
            assert await child.run(handlers.list_folder, str(root.parent)) == [root.name]
            assert await child.run(handlers.list_folder, str(root)) == [child.folder.parent.name]


async def test_packages_inside_a_hidden_folder_can_be_imported() -> None:
    async with Children(limits=SMALL, at_most=1, hidden=(REPOSITORY.parent,)) as children:
        assert await count(children) == 1


async def test_cancelled_call_kills_its_process(two: Children, tmp_path: Path) -> None:
    assert await count(two) == 1
    started = asyncio.Event()

    async def work() -> None:
        async with two.child("acme") as child:
            await child.run(handlers.sleep_long, None, on_progress=lambda fraction: started.set())

    working = asyncio.create_task(work())
    await asyncio.wait_for(started.wait(), 30)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert processes_in(tmp_path) == []
    assert await count(two) == 1


async def test_closing_kills_the_leased_and_the_idle(tmp_path: Path) -> None:
    async with Children(limits=SMALL, at_most=2) as children:
        await asyncio.gather(count(children, "one"), count(children, "two"))
        started = asyncio.Event()

        async def work() -> None:
            async with children.child("one") as child:
                await child.run(handlers.sleep_long, None, on_progress=lambda fraction: started.set())

        working = asyncio.create_task(work())
        await asyncio.wait_for(started.wait(), 30)
    assert processes_in(tmp_path) == []
    with pytest.raises(PhaseError):
        await working


async def test_closed_children_cannot_be_leased() -> None:
    async with Children(limits=SMALL, at_most=1) as children:
        pass
    with pytest.raises(UsageError, match="closed"):
        await count(children)


async def test_scratch_of_a_killed_worker_is_removed_by_the_next_and_that_of_a_living_one_kept(
    two: Children, tmp_path: Path
) -> None:
    worker, scratch = _start_worker_asleep(tmp_path)
    assert await count(two) == 1
    worker.kill()
    worker.wait()
    wait_until(lambda: processes_in(scratch) == [])
    assert scratch in _scratches(tmp_path)
    async with Children(limits=SMALL, at_most=1):
        assert scratch not in _scratches(tmp_path)
    assert await count(two) == 2


async def test_scratch_is_never_made_where_others_can_write(tmp_path: Path) -> None:
    planted = tmp_path / f"holdfast-scratch-{os.geteuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    with pytest.raises(StorageUnavailable, match="not a private directory"):
        async with Children(limits=SMALL, at_most=1) as children:
            await count(children)
    planted.rmdir()


def test_sweeping_beside_others_who_come_and_go_finds_nothing_wrong() -> None:
    done = threading.Event()

    def come_and_go() -> None:
        while not done.is_set():
            isolated_scratch.Scratch.create().remove()

    with ThreadPoolExecutor(2) as others:
        for _ in range(2):
            others.submit(come_and_go)
        try:
            for _ in range(3_000):
                isolated_scratch.sweep()
        finally:
            done.set()


@asynccontextmanager
async def _asleep(child: Child) -> AsyncIterator[None]:
    """A long call in progress for the length of the block."""
    started = asyncio.Event()
    call = asyncio.create_task(child.run(handlers.sleep_long, None, on_progress=lambda fraction: started.set()))
    await asyncio.wait_for(started.wait(), 30)
    yield
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


def _scratches(temporary: Path) -> list[Path]:
    return list(temporary.glob("holdfast-*/*"))


def _start_worker_asleep(temporary: Path) -> tuple["subprocess.Popen[bytes]", Path]:
    """Start another worker, whose child sleeps in the scratch directory returned."""
    script = (
        "import asyncio, sys; sys.path.insert(0, sys.argv[1])\n"
        "from tests.engine import isolated_handlers as handlers\n"
        "from holdfast.engine.isolated_children import Children\n"
        "from holdfast.engine.isolation import Limits\n"
        "async def work():\n"
        "    async with Children(limits=Limits(), at_most=1) as children, children.child('acme') as child:\n"
        "        await child.run(handlers.sleep_long, 'asleep')\n"
        "asyncio.run(work())"
    )
    command = [sys.executable, "-c", script, str(REPOSITORY)]
    worker = subprocess.Popen(command, env=os.environ | {"TMPDIR": str(temporary)})
    wait_until(lambda: list(temporary.glob("*/*/cell/asleep")) != [])
    (asleep,) = temporary.glob("*/*/cell/asleep")
    return worker, asleep.parents[1]
