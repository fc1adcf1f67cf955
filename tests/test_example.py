"""The example ends well, and would not if the promise were broken."""

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
