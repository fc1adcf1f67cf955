"""`holdfast worker` as an operator sees it: it drains, stops when told to, and never hangs on to a job."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.cli.conftest import SECONDS, CommandLine


def _wait_for(mark: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while not mark.exists():
        assert time.monotonic() < deadline, f"{mark.name} never appeared: no worker came that far"
        time.sleep(0.05)


def _submit(holdfast: CommandLine, name: str, directory: Path) -> tuple[int, Path]:
    """A document whose handler leaves a mark when it begins."""
    mark = directory / name
    return holdfast.submit(name, "--meta", f"mark={mark}"), mark.with_suffix(".extract")


def _job(holdfast: CommandLine, job_id: int) -> Any:
    return holdfast.succeed("show", str(job_id), "--json").json


def _outcomes(job: Any) -> list[str]:
    return [attempt["outcome"] for attempt in job["attempts"]]


def _finish_elsewhere(holdfast: CommandLine, job_id: int) -> Any:
    """Start another worker and let it work until the job is done."""
    with holdfast.started("worker") as worker:
        job = _done_by(worker, holdfast, job_id)
        worker.send_signal(signal.SIGTERM)
        worker.wait(SECONDS)
    return job


def _done_by(worker: "subprocess.Popen[str]", holdfast: CommandLine, job_id: int) -> Any:
    """Wait until the job is done, as long as the worker lives."""
    deadline = time.monotonic() + SECONDS
    while (job := _job(holdfast, job_id))["state"] != "done":
        assert worker.poll() is None, f"the worker ended with {worker.returncode}"
        assert time.monotonic() < deadline, f"job {job_id} is {job['state']}: {job['next']}"
        time.sleep(0.2)
    return job


def _end(worker: "subprocess.Popen[str]") -> tuple[int, str]:
    _, err = worker.communicate(timeout=SECONDS)
    return worker.returncode, err


def test_drain_carries_every_job_to_its_end(holdfast: CommandLine) -> None:
    job_id = holdfast.submit("report")

    holdfast.succeed("worker", "--drain")

    job = _job(holdfast, job_id)
    assert (job["state"], job["status"]) == ("done", "complete")


def test_only_the_phase_named_is_served(holdfast: CommandLine) -> None:
    job_id = holdfast.submit("report")

    holdfast.succeed("worker", "--drain", "--phase", "extract", "--concurrency", "2")

    job = _job(holdfast, job_id)
    assert (job["state"], job["phase"]) == ("queued", "embed")


def test_events_are_json_lines_when_nobody_watches(holdfast: CommandLine) -> None:
    holdfast.submit("torn")

    result = holdfast.succeed("worker", "--drain")

    events = [json.loads(line) for line in result.err.splitlines()]
    names = ["database.connected", "worker.started", "attempt.settled", "worker.stopped"]
    assert [event["event"] for event in events] == names
    assert events[2]["category"] == "corrupt_input"


def test_events_are_for_people_when_asked(holdfast: CommandLine) -> None:
    result = holdfast.with_settings(HOLDFAST_LOG_FORMAT="console").succeed("worker", "--drain")

    assert "worker.started" in result.err
    assert not result.err.startswith("{")


def test_told_to_stop_it_finishes_what_runs(holdfast: CommandLine, tmp_path: Path) -> None:
    job_id, mark = _submit(holdfast, "patient", tmp_path)
    with holdfast.started("worker") as worker:
        _wait_for(mark)
        worker.send_signal(signal.SIGTERM)
        mark.with_suffix(".end").touch()
        code, _ = _end(worker)

    assert code == 0
    assert _outcomes(_job(holdfast, job_id)) == ["completed"]


def test_told_to_stop_it_gives_back_what_takes_too_long(holdfast: CommandLine, tmp_path: Path) -> None:
    job_id, mark = _submit(holdfast, "slow", tmp_path)
    with holdfast.started("worker", "--grace-seconds", "0.5") as worker:
        _wait_for(mark)
        worker.send_signal(signal.SIGTERM)
        code, _ = _end(worker)

    job = _job(holdfast, job_id)
    assert code == 0
    assert (job["state"], job["retry_count"], _outcomes(job)) == ("queued", 0, ["released"])


def test_told_twice_it_gives_everything_back_at_once(holdfast: CommandLine, tmp_path: Path) -> None:
    job_id, mark = _submit(holdfast, "slow", tmp_path)
    with holdfast.started("worker", "--grace-seconds", "3600") as worker:
        _wait_for(mark)
        worker.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        worker.send_signal(signal.SIGINT)
        code, _ = _end(worker)

    job = _job(holdfast, job_id)
    assert code == 0
    assert (job["state"], _outcomes(job)) == ("queued", ["released"])


def test_a_handler_that_ignores_its_end_does_not_keep_the_process(holdfast: CommandLine, tmp_path: Path) -> None:
    job_id, mark = _submit(holdfast, "stubborn", tmp_path)
    with holdfast.started("worker", "--grace-seconds", "0") as worker:
        _wait_for(mark)
        worker.send_signal(signal.SIGTERM)
        code, _ = _end(worker)

    assert code == 0
    assert _outcomes(_job(holdfast, job_id)) == ["released"]


def test_a_handler_that_never_yields_ends_the_worker_and_the_job_goes_on(holdfast: CommandLine, tmp_path: Path) -> None:
    job_id, _ = _submit(holdfast, "blocking", tmp_path)
    quick = holdfast.with_settings(HOLDFAST_LEASE_SECONDS="3", HOLDFAST_HEARTBEAT_SECONDS="1")
    with quick.started("worker") as worker:
        code, err = _end(worker)

    assert code == 70
    assert "worker.stalled" in err
    assert "in _block" in err
    job = _finish_elsewhere(holdfast, job_id)
    assert _outcomes(job) == ["lost", "completed", "completed"]
    assert job["retry_count"] == 0


def test_a_handler_that_keeps_the_interpreter_locked_ends_the_worker_too(holdfast: CommandLine, tmp_path: Path) -> None:
    job_id, _ = _submit(holdfast, "backtracking", tmp_path)
    quick = holdfast.with_settings(HOLDFAST_LEASE_SECONDS="2", HOLDFAST_HEARTBEAT_SECONDS="0.5")
    with quick.started("worker") as worker:
        code, err = _end(worker)

    assert code == -signal.SIGPROF
    assert "in embed" in err
    job = _finish_elsewhere(holdfast, job_id)
    assert _outcomes(job) == ["completed", "lost", "completed"]
    shown = holdfast.succeed("show", str(job_id)).out
    assert "at least $0" in shown  # nobody knows what the lost one cost
    assert "unknown" in shown


def test_a_worker_that_was_suspended_is_left_alone(holdfast: CommandLine, tmp_path: Path) -> None:
    quick = holdfast.with_settings(HOLDFAST_LEASE_SECONDS="3", HOLDFAST_HEARTBEAT_SECONDS="1")
    with quick.started("worker") as worker:
        _, mark = _submit(holdfast, "report", tmp_path)
        _wait_for(mark)
        worker.send_signal(signal.SIGSTOP)
        time.sleep(5)
        worker.send_signal(signal.SIGCONT)
        _done_by(worker, holdfast, holdfast.submit("report"))
        worker.send_signal(signal.SIGTERM)
        code, _ = _end(worker)

    assert code == 0


def test_an_unknown_pipeline_is_named_with_the_known_ones(holdfast: CommandLine) -> None:
    result = holdfast.run("worker", "--pipeline", "nonsense")

    assert result.code == 2
    assert result.err == 'error: there is no pipeline "nonsense": name one of configs, documents, reports\n'


def test_without_pipelines_of_ones_own_it_serves_the_built_in_one(holdfast: CommandLine) -> None:
    bare = holdfast.with_settings(HOLDFAST_PIPELINES="")

    assert bare.run("worker", "--drain", "--pipeline", "documents").code == 0
    assert bare.run("worker", "--drain", "--pipeline", "reports").code == 2


def test_a_pipeline_that_cannot_be_imported_names_its_setting(holdfast: CommandLine) -> None:
    result = holdfast.with_settings(HOLDFAST_PIPELINES="nowhere:reports").run("worker")

    assert result.code == 2
    assert "HOLDFAST_PIPELINES" in result.err
    assert "nowhere:reports" in result.err


def test_something_that_is_no_pipeline_is_refused(holdfast: CommandLine) -> None:
    result = holdfast.with_settings(HOLDFAST_PIPELINES="sample:not_a_pipeline").run("worker")

    assert result.code == 2
    assert "is int" in result.err
