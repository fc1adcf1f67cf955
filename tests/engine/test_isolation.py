"""Isolated handlers: every way a child can end, and that nothing of it is left."""

import asyncio
import functools
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest

from holdfast.engine import isolated_process
from holdfast.engine.classify import classify
from holdfast.engine.isolation import Limits, check_importable, run_isolated
from holdfast.errors import (
    Category,
    CorruptInput,
    EncryptedInput,
    InvalidInput,
    NetworkTimeout,
    PhaseError,
    RateLimited,
    ResourceExhausted,
    StorageUnavailable,
    TimedOut,
    TooLarge,
    UsageError,
)
from tests.engine import isolated_handlers as handlers
from tests.engine.isolated_traces import expect, nothing_left, processes_in, processes_with, require, wait_until

SMALL = Limits(memory_mb=256, cpu_seconds=1, wall_seconds=60, output_mb=1, file_mb=1)


@pytest.fixture(autouse=True)
def _nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test, whatever its ending, must leave no scratch directory, no descriptor and no child."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with nothing_left(tmp_path):
        yield


async def test_result_comes_back() -> None:
    assert await run_isolated(handlers.double, ["ä", {"n": 1}]) == ["ä", {"n": 1}, "ä", {"n": 1}]


async def test_payload_of_megabytes_arrives() -> None:
    assert await run_isolated(handlers.double, "x" * (8 << 20)) == "x" * (16 << 20)


async def test_progress_arrives_clamped_and_without_repeats() -> None:
    seen: list[float] = []
    await run_isolated(handlers.report_halves, None, on_progress=seen.append)
    assert seen == [0.0, 0.5, 1.0]


async def test_listener_that_raises_ends_the_call() -> None:
    def refuse(fraction: float) -> None:
        raise LookupError("not listening")

    with pytest.raises(LookupError, match="not listening"):
        await run_isolated(handlers.sleep_long, None, on_progress=refuse)


async def test_environment_holds_no_secret_of_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "HOLDFAST_DATABASE_URL", "GITHUB_TOKEN", "MY_SECRET", "PYTHONPATH"):
        monkeypatch.setenv(name, "hidden-value")
    seen = await run_isolated(handlers.tell_surroundings, None, environment={"TESSDATA_PREFIX": "/data"})
    assert set(seen["environment"]) <= {
        "PATH",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "HOME",
        "TMPDIR",
        "TESSDATA_PREFIX",
    }


async def test_home_is_an_empty_scratch_directory() -> None:
    seen = await run_isolated(handlers.tell_surroundings, None)
    assert seen["files"] == []
    assert seen["environment"]["HOME"] == seen["environment"]["TMPDIR"] == seen["directory"]


async def test_phase_error_keeps_class_and_all_it_carries() -> None:
    with pytest.raises(RateLimited, match="slow down") as caught:
        await run_isolated(handlers.raise_rate_limited, None)
    error = caught.value
    assert (error.error_code, error.details, error.retry_after_seconds) == ("E7", {"plan": "free"}, 30)
    assert error.cost_usd == Decimal("0.25")


async def test_failure_keeps_type_and_traceback_of_the_child() -> None:
    with pytest.raises(EncryptedInput) as caught:
        await run_isolated(handlers.raise_own_subclass, None)
    failure = classify(caught.value)
    assert (failure.category, failure.error_type) == (Category.ENCRYPTED, "PasswordMissing")
    assert "raise PasswordMissing" in failure.traceback


async def test_unknown_exception_is_an_unknown_failure() -> None:
    with pytest.raises(PhaseError, match="nobody expects this") as caught:
        await run_isolated(handlers.raise_value_error, None)
    assert classify(caught.value).category is Category.UNKNOWN
    assert classify(caught.value).error_type == "ValueError"


async def test_foreign_exception_is_classified_in_the_child() -> None:
    with pytest.raises(NetworkTimeout, match="reset by peer"):
        await run_isolated(handlers.raise_connection_error, None)


async def test_sys_exit_is_a_failure_like_any_other() -> None:
    with pytest.raises(PhaseError, match="rather not") as caught:
        await run_isolated(handlers.leave_by_sys_exit, None)
    assert classify(caught.value).error_type == "SystemExit"


async def test_abort_is_corrupt_input_with_the_last_words() -> None:
    with pytest.raises(CorruptInput, match=r"SIGABRT.*assertion failed in page tree"):
        await run_isolated(handlers.abort, None)


async def test_abort_for_lack_of_memory_is_exhaustion() -> None:
    with pytest.raises(ResourceExhausted, match="memory"):
        await run_isolated(handlers.abort_for_memory, None)


async def test_segmentation_fault_is_corrupt_input() -> None:
    with pytest.raises(CorruptInput, match="SIGSEGV"):
        await run_isolated(handlers.read_null, None)


async def test_silent_exit_is_corrupt_input() -> None:
    with pytest.raises(CorruptInput, match="exit code 3"):
        await run_isolated(handlers.exit_silently, None)


async def test_kill_from_outside_is_exhaustion() -> None:
    with pytest.raises(ResourceExhausted, match="killed by the system"):
        await run_isolated(handlers.kill_itself, None)


async def test_endless_loop_ends_at_its_processor_time() -> None:
    with pytest.raises(ResourceExhausted, match="processor time") as caught:
        await run_isolated(handlers.loop_forever, None, limits=SMALL)
    assert caught.value.details["exit_code"] == -signal.SIGPROF


async def test_endless_loop_in_a_process_of_the_function_ends_too() -> None:
    assert await run_isolated(handlers.start_endless_loop, None, limits=SMALL) in (-signal.SIGXCPU, -signal.SIGKILL)


async def test_sleeper_ends_at_its_wall_clock() -> None:
    with pytest.raises(TimedOut, match=r"0\.5 s"):
        await run_isolated(handlers.sleep_long, None, limits=Limits(wall_seconds=0.5))


async def test_too_much_memory_is_exhaustion() -> None:
    with pytest.raises(ResourceExhausted):
        await run_isolated(handlers.allocate_in_small_pieces, None, limits=Limits(memory_mb=256))


async def test_memory_that_is_only_asked_for_is_exhaustion_where_the_system_limits_it() -> None:
    await require("memory_limit")
    with pytest.raises(ResourceExhausted):
        await run_isolated(handlers.allocate_ten_gigabytes, None, limits=Limits(memory_mb=256))


async def test_printing_megabytes_neither_blocks_nor_fails() -> None:
    assert await run_isolated(handlers.print_fifty_megabytes, None) == "done"


async def test_only_the_last_words_of_megabytes_are_kept() -> None:
    async with isolated_process.start_alone(SMALL.cell(calls=1)) as child:
        child.errors.data_received(b"first words" + b"x" * (1 << 20) + b"last words")
        assert len(child.errors.text()) == 8_192
        assert child.errors.text().endswith("last words")


async def test_result_over_the_output_limit_is_too_large() -> None:
    with pytest.raises(TooLarge, match="more than 1 MB"):
        await run_isolated(handlers.return_megabytes, 2, limits=SMALL)


async def test_file_over_its_limit_is_too_large() -> None:
    with pytest.raises(TooLarge):
        await run_isolated(handlers.write_megabytes, 2, limits=SMALL)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("nul", "NUL"),
        ("surrogate", "surrogate"),
        ("nan", "not plain JSON"),
        ("infinity", "JSON"),
        ("object", "JSON"),
    ],
)
async def test_result_that_cannot_be_stored_is_refused(value: str, words: str) -> None:
    with pytest.raises(PhaseError, match=f"return_value cannot be stored.*{words}") as caught:
        await run_isolated(handlers.return_value, value)
    assert caught.value.error_code == "UNSTORABLE_RESULT"


async def test_text_that_only_spells_a_nul_is_kept() -> None:
    assert await run_isolated(handlers.return_value, "spelled nul") == "a\\u0000b"


async def test_answer_that_is_no_frame_is_corrupt_input() -> None:
    with pytest.raises(CorruptInput, match="nonsense"):
        await run_isolated(handlers.write_to_all_descriptors, "no frame at all")


@pytest.mark.parametrize(
    "body",
    [
        "{]",
        "{}",
        '{"call": 1, "result": 1e999, "worn": false}',
        '{"call": 1, "result": NaN, "worn": false}',
        '{"call": 1, "result": "\\u0000", "worn": false}',
        '{"call": 1, "result": "\\ud800", "worn": false}',
        '{"call": 1, "result": ' + "[" * 100_000,
        '{"call": 1, "result": 1}',
        '{"call": 2, "result": 1, "worn": false}',
        '{"call": 1, "progress": "half"}',
        '{"call": 1, "failure": {"category": "worker_lost"}, "worn": false}',
        '{"call": 1, "failure": {"category": ["unknown"]}, "worn": false}',
    ],
    ids=lambda body: body[:40],
)
async def test_frame_that_makes_no_sense_is_corrupt_input(body: str) -> None:
    with pytest.raises(CorruptInput, match="nonsense"):
        await run_isolated(handlers.write_frame, body)


async def test_payload_that_is_not_json_is_refused_before_any_child() -> None:
    with pytest.raises(InvalidInput, match="not plain JSON"):
        await run_isolated(handlers.double, object())


async def test_grandchild_dies_with_the_call(tmp_path: Path) -> None:
    mark = f"grandchild-{tmp_path}"
    assert await run_isolated(handlers.leave_grandchild, mark) == "left"
    assert processes_with(mark) == []


async def test_grandchild_dies_with_a_call_that_crashed(tmp_path: Path) -> None:
    mark = f"grandchild-{tmp_path}"
    with pytest.raises(CorruptInput, match="SIGABRT"):
        await run_isolated(handlers.leave_grandchild_and_crash, mark)
    assert processes_with(mark) == []


async def test_daemon_dies_with_the_call(tmp_path: Path) -> None:
    mark = f"daemon-{tmp_path}"
    assert await run_isolated(handlers.leave_daemon, mark) == "left"
    assert processes_with(mark) == []


async def test_fork_bomb_is_bounded() -> None:
    with pytest.raises(ResourceExhausted):
        await run_isolated(handlers.fork_many, 1_500)


async def test_function_may_start_threads() -> None:
    assert await run_isolated(handlers.start_threads, 4) == [0, 1, 2, 3]


async def test_network_is_out_of_reach_where_it_is_cut_off() -> None:
    await require("network")
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(NetworkTimeout):
        await run_isolated(handlers.connect_to_port, server.getsockname()[1])


async def test_environment_of_other_processes_is_hidden_where_proc_is(tmp_path: Path) -> None:
    await require("proc")
    secret = f"secret-{tmp_path}"
    with _process_holding(secret):
        assert secret not in await run_isolated(handlers.read_all_environments, None)


async def test_nothing_outside_the_scratch_directory_can_be_written(tmp_path: Path) -> None:
    await expect("read_only")
    with pytest.raises(StorageUnavailable, match="Read-only"):
        await run_isolated(handlers.write_to, str(tmp_path / "planted"))
    assert not (tmp_path / "planted").exists()


async def test_child_that_cannot_start_is_not_blamed_on_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ResourceExhausted, match="no child process could be started") as caught:
        await run_isolated(handlers.double, 1)
    assert caught.value.error_code == "CHILD_NOT_STARTED"


async def test_child_has_no_power_over_the_system() -> None:
    await expect("no_new_privileges")
    assert await run_isolated(handlers.tell_capabilities, None) in ("0000000000000000", "0000000000000002")


async def test_scratch_directory_is_removed_even_if_locked(tmp_path: Path) -> None:
    scratch = await run_isolated(handlers.lock_own_directory, None)
    assert scratch.startswith(f"{tmp_path}/")
    assert os.listdir(tmp_path) == []


async def test_cancellation_kills_the_child_and_waits_for_it(tmp_path: Path) -> None:
    started = asyncio.Event()
    call = asyncio.create_task(run_isolated(handlers.sleep_long, None, on_progress=lambda fraction: started.set()))
    await asyncio.wait_for(started.wait(), 30)
    children = processes_in(tmp_path)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert children != []
    assert processes_in(tmp_path) == []


async def test_twenty_calls_side_by_side_all_answer() -> None:
    answers = await asyncio.gather(*(run_isolated(handlers.double, number) for number in range(20)))
    assert answers == [number * 2 for number in range(20)]


def test_killed_worker_leaves_no_orphan(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys; sys.path.insert(0, sys.argv[1]);"
        "from tests.engine import isolated_handlers as handlers;"
        "from holdfast.engine.isolation import run_isolated;"
        "asyncio.run(run_isolated(handlers.sleep_long, sys.argv[2]))"
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    worker = subprocess.Popen(
        [sys.executable, "-c", script, str(Path(__file__).parents[2]), "asleep"],
        env=os.environ | {"TMPDIR": str(scratch)},
    )
    wait_until(lambda: list(scratch.glob("*/*/cell/asleep")) != [])
    assert len(processes_in(scratch)) > 0
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    wait_until(lambda: processes_in(scratch) == [])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda payload, progress: payload, "top of a module"),
        (functools.partial(handlers.double, None), "top of a module"),
        (handlers.answer_later, "plain function"),
        ([].append, "cannot run isolated"),
    ],
)
def test_function_that_a_child_cannot_find_is_refused(function: Callable[..., object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_importable(function)


def test_function_of_the_main_script_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handlers.double, "__module__", "__main__")
    with pytest.raises(UsageError, match="move it to a module"):
        check_importable(handlers.double)


def test_function_hidden_behind_another_of_its_name_is_refused() -> None:
    @functools.wraps(handlers.double)
    def wrapped(payload: object, progress: object) -> object:
        return payload

    with pytest.raises(UsageError, match="does not lead to"):
        check_importable(wrapped)


@contextmanager
def _process_holding(secret: str) -> Iterator[None]:
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, env={"KEY": secret}, stdin=subprocess.PIPE) as process:
        yield
        process.communicate(b"\n")
