"""Where Linux's own calls, its limits and /proc are missing, the main job works and no child outlives its worker."""

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.db.connection import Database
from holdfast.engine.queue import Queue, Submission, submit
from holdfast.sandbox.protection import describe_gaps
from tests.engine.isolated_traces import processes_in, processes_with, wait_until
from tests.sandbox.crowd import PIPELINE
from tests.sandbox.stripped import NOBODY, Kind, StrippedSystem

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "examples" / "library"
# One of each reader, and one that fails.
READ = ("harbour-handbook.pdf", "mooring-fees.xlsx", "diving-permit.png", "notices.txt", "sealed-contract.pdf")
# Much longer than on the slowest machine that was seen.
SECONDS = 500
pytestmark = pytest.mark.timeout(SECONDS + 100)
STARTED = ("child", "grandchild", "daemon", "orphan")
# Every way to an end, of those that the kernel sees to where it can.
ENDS = [
    f"tests/engine/test_isolation.py::{name}"
    for name in (
        "test_too_much_memory_is_exhaustion",
        "test_endless_loop_ends_at_its_processor_time",
        "test_sleeper_ends_at_its_wall_clock",
        "test_fork_bomb_is_bounded",
        "test_daemon_dies_with_the_call",
        "test_grandchild_dies_with_a_call_that_crashed",
        "test_kill_from_outside_is_exhaustion",
        "test_function_may_start_threads",
        "test_child_that_cannot_start_is_not_blamed_on_the_document",
    )
]
WARM = [
    f"tests/engine/test_isolated_children.py::{name}"
    for name in (
        "test_one_process_serves_lease_after_lease",
        "test_process_that_left_another_running_is_replaced",
        "test_process_that_keeps_half_its_memory_is_replaced",
        "test_process_that_died_while_idle_is_replaced",
        "test_scratch_of_a_killed_worker_is_removed_by_the_next_and_that_of_a_living_one_kept",
    )
]
FEW = [ENDS[0], ENDS[3], ENDS[4], WARM[0]]
# More threads than a reader may start processes.
THREADS = """
import threading, time
for _ in range(400):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print("started", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("kind", "tests"),
    [
        ("absent", [*ENDS, *WARM]),
        pytest.param("enosys", FEW, marks=pytest.mark.thorough),
        pytest.param("container", FEW, marks=pytest.mark.thorough),
    ],
)
def test_every_end_of_a_child_is_the_same(kind: Kind, tests: list[str], tmp_path: Path) -> None:
    system = StrippedSystem.create(tmp_path / "system", kind)
    options = ["-q", "-rs", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly"]
    # As people run it: without root's rights, of which some limits take no notice.
    as_nobody = kind == "absent"
    with _free_folder() as temporary, _busy_user(system, as_nobody=as_nobody):
        done = subprocess.run(
            system.command(system.python, "-m", "pytest", *options, *tests, as_nobody=as_nobody),
            env=_environment(TMPDIR=str(temporary)),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "skipped" not in done.stdout
        assert processes_in(temporary) == []


@pytest.mark.parametrize("server", ["embedded"], indirect=True)
def test_documents_are_read_and_found_and_the_gaps_are_told(dsn: str, tmp_path: Path) -> None:
    system = StrippedSystem.create(tmp_path / "system", "absent")
    library = tmp_path / "library"
    library.mkdir()
    for name in READ:
        shutil.copy(LIBRARY / name, library)
    with _free_folder() as home:

        def holdfast(*arguments: str | Path) -> tuple[int, dict[str, object]]:
            environment = _environment(HOLDFAST_DATABASE_URL=dsn, HOLDFAST_HOME=str(home), TMPDIR=str(home))
            command = system.command(system.holdfast, *arguments, "--json")
            done = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, timeout=SECONDS)
            return done.returncode, json.loads(done.stdout or done.stderr)

        code, summary = holdfast("ingest", library)
        _, found = holdfast("search", "At what water level does the tidal gate open?", "--limit", "1")
        _, health = holdfast("doctor")
    assert code == 1
    assert [(one["source_name"], one["last_error"]["category"]) for one in summary["failures"]] == [
        ("sealed-contract.pdf", "encrypted")
    ]
    assert summary["states"]["done"] == len(READ) - 1
    assert found["hits"][0]["source_name"] == "harbour-handbook.pdf"
    assert summary["doubts"] == health["doubts"] == describe_gaps([])


@pytest.mark.parametrize("server", ["embedded"], indirect=True)
async def test_nothing_that_a_reader_started_outlives_a_killed_worker(
    dsn: str, database: Database, tmp_path: Path
) -> None:
    system = StrippedSystem.create(tmp_path / "system", "absent")
    mark = f"crowd-{os.getpid()}"
    await Queue(database).register([PIPELINE])
    await submit(database, PIPELINE.name, [Submission(organisation="acme", input=mark)])
    with _free_folder() as home:
        environment = _environment(
            HOLDFAST_DATABASE_URL=dsn,
            HOLDFAST_HOME=str(home),
            HOLDFAST_PIPELINES="tests.sandbox.crowd:PIPELINE",
            HOLDFAST_LOG_FORMAT="json",
            TMPDIR=str(home),
        )
        log = tmp_path / "log"
        worker = _start(system.command(system.holdfast, "worker", "--pipeline", PIPELINE.name), environment, log)
        try:
            await asyncio.to_thread(wait_until, lambda: all(processes_with(f"{mark}-{name}") for name in STARTED))
            await asyncio.to_thread(wait_until, lambda: b"sandbox.gaps" in log.read_bytes())
        finally:
            worker.kill()
            worker.wait()
        await asyncio.to_thread(wait_until, lambda: processes_with(mark) == processes_in(home) == [])
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["gaps"] for line in told if line["event"] == "sandbox.gaps"] == describe_gaps([])


def _start(command: list[str], environment: dict[str, str], log: Path) -> "subprocess.Popen[bytes]":
    with log.open("wb") as output:
        return subprocess.Popen(command, env=environment, cwd=ROOT, stderr=output)


@contextmanager
def _busy_user(system: StrippedSystem, *, as_nobody: bool) -> Iterator[None]:
    """Another program of the same user, with many threads."""
    command = system.command(system.python, "-c", THREADS, as_nobody=as_nobody)
    with subprocess.Popen(command, env=_environment(), stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == "started\n"
            yield
        finally:
            program.kill()


@contextmanager
def _free_folder() -> Iterator[Path]:
    """A folder that an account without rights can use too, which it cannot below pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-stripped-"))
    folder.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _environment(**variables: str) -> dict[str, str]:
    dropped = ("HOLDFAST_", "PYTEST_", "PYTHON")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)} | variables
