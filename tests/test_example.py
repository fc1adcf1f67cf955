"""The example ends well, and would not if the promise were broken."""

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.timeout(600)
def test_example_keeps_the_promise_through_a_killed_worker_and_a_spent_budget() -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / "flaky.py"], capture_output=True, text=True, timeout=590, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for said in ("kill -9 for worker one", "the budget is spent", "40 submitted = 36 done", "every invariant holds"):
        assert said in done.stdout


TWO_JOBS = '{"jobs": [{"job_id": 1, "source_name": "a.wav", "last_error": {"error": "broke"}}, {"job_id": 2, '
TWO_JOBS += '"source_name": "b", "last_error": null}]}'
BROKEN = {
    "missing": ("tour.py", None, "No such file or directory"),
    "fails": ("tour.py", "echo 'error: the disk is full' >&2; exit 1", "ended with 1: error: the disk is full"),
    "fails otherwise": ("tour.py", "exit 3", "holdfast ingest ended with 3 instead of 1"),
    "two jobs": ("tour.py", f"[ $1 = jobs ] || exit 1; echo '{TWO_JOBS}'", "not 2 documents (a.wav: broke; b: None)"),
    "no worker": ("flaky.py", None, "No such file or directory"),
}


@pytest.mark.parametrize(("example", "program", "reason"), BROKEN.values(), ids=BROKEN)
def test_example_that_fails_says_why_in_one_line(
    tmp_path: Path, example: str, program: str | None, reason: str
) -> None:
    """A Python beside which there is another `holdfast`, or none."""
    (tmp_path / "python").symlink_to(sys.executable)
    if program is not None:
        (tmp_path / "holdfast").write_text(f"#!/bin/sh\n{program}\n")
        (tmp_path / "holdfast").chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [tmp_path / "python", EXAMPLES / example], env=environment, capture_output=True, text=True, check=False
    )
    *before, last = done.stderr.splitlines()
    assert done.returncode == 1
    assert last.startswith(f"examples/{example} failed: ")
    assert reason in last
    assert "Traceback" not in done.stdout + "".join(before)


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An account of one job whose paid phase completed under token 2."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from account import Account
    from service import Call

    job = {"job_id": 1, "state": "done", "status": "stored", "total_cost_usd": Decimal("0.003")}
    attempt = {"job_id": 1, "token": 2, "phase": "enrich", "outcome": "completed", "cost_usd": Decimal("0.003")}
    return Account([job], [attempt], 1, [Call(1, 2, "good")])


def broken(account: Any, submitted: int = 1) -> list[str]:
    return [promise.text for promise in account.promises(submitted) if not promise.holds]


def test_example_finds_nothing_broken_when_nothing_is(account: Any) -> None:
    assert broken(account) == []


def test_example_notices_a_lost_document(account: Any) -> None:
    assert broken(account, submitted=2) == ["nothing is lost"]


def test_example_notices_a_finished_phase_paid_again(account: Any) -> None:
    account.calls.append(type(account.calls[0])(1, 3, "busy"))
    assert broken(account) == ["nothing finished is paid twice"]


def test_example_notices_money_that_is_on_no_attempt(account: Any) -> None:
    account.calls.append(type(account.calls[0])(1, 1, "good"))
    assert broken(account) == ["every cent is known"]


def test_example_notices_a_failure_without_an_explanation(account: Any) -> None:
    account.jobs.append({"job_id": 2, "state": "failed", "status": "fetched", "last_error": None, "next": "?"})
    assert broken(account, submitted=2) == ["every failure is explained"]
