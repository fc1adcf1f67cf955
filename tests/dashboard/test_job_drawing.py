"""What the pages of jobs draw, and what their addresses say: nothing from outside becomes markup."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from holdfast.api.jobs import preview_of
from holdfast.dashboard.jobs.content import place_words
from holdfast.dashboard.jobs.head import head
from holdfast.dashboard.jobs.narrowing import Narrowing
from holdfast.dashboard.jobs.preview import preview_markup
from holdfast.dashboard.jobs.table import job_table, shortened
from holdfast.dashboard.jobs.timeline import timeline
from holdfast.dashboard.words import next_step
from holdfast.engine.control import Group
from holdfast.engine.selection import Selection
from holdfast.errors import InvalidInput
from holdfast.standard import Place

EVIL = "<script>alert(1)</script>"
SAFE = "&lt;script&gt;alert(1)&lt;/script&gt;"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PHASES = [{"name": name, "retired": False} for name in ("store", "extract", "publish")]


def _job(**facts: Any) -> dict[str, Any]:
    job = {
        "job_id": 7,
        "organisation": EVIL,
        "source_name": EVIL,
        "platform": EVIL,
        "pipeline": "documents",
        "phase": "extract",
        "status": "parsing",
        "state": "failed",
        "percent": -1,
        "retry_count": 1,
        "max_retries": 3,
        "crash_count": 0,
        "retry_at": NOW + timedelta(minutes=5),
        "queue_position": None,
        "last_error": {"category": "corrupt_input", "error": EVIL},
        "total_cost_usd": Decimal("0.5"),
        "submitted_at": NOW,
        "queued_at": NOW,
        "finished_at": None,
        "flow": "new",
        "next": "retries extract at 2026-03-01T12:05:00Z",
        "document": {"document_id": 3, "deleted_at": None, "duplicate_of": None, "source_location": EVIL},
        "attempts": [
            _attempt("store", 1, began=0, seconds=1),
            _attempt("extract", 2, began=61, seconds=4, outcome="failed", error=EVIL),
        ],
    }
    return {**job, **facts}


def test_cost_that_nobody_could_tell_is_drawn_as_the_least_it_can_be() -> None:
    lost = _attempt("extract", 2, began=61, seconds=4, outcome="lost", cost_usd=Decimal("0.25"))
    lost["error"] = {"error": "its worker died", "details": {"cost_is_known": False}}
    job = _job(attempts=[lost])
    assert "at least $0.5" in head(job, may_act=False)
    assert "≥ $0.25" in timeline(job, PHASES, may_act=False, tracebacks=False)


def _attempt(phase: str, token: int, *, began: int, seconds: int, **facts: Any) -> dict[str, Any]:
    error = facts.pop("error", None)
    return {
        "phase": phase,
        "token": token,
        "run": 1,
        "attempt": 1,
        "outcome": "completed",
        "started_at": NOW + timedelta(seconds=began),
        "ended_at": NOW + timedelta(seconds=began + seconds),
        "seconds": float(seconds),
        "cost_usd": Decimal(0),
        "category": "corrupt_input" if error else None,
        "error": {"error": error, "details": {"traceback": "File secret.py"}} if error else None,
        **facts,
    }


def test_job_of_the_old_flow_says_who_carries_it_and_offers_no_act_on_it() -> None:
    drawn = head(_job(flow="old", state="held"), may_act=True)

    assert "<dt>Carried by</dt><dd>the old installation</dd>" in drawn
    assert drawn.count("the old installation carries it") == len(("Retry", "Cancel", "Reset"))
    assert "Carried by" not in head(_job(), may_act=True)


def test_whatever_a_document_says_is_drawn_as_text() -> None:
    drawn = job_table([_job()], ticked=(), may_act=True) + head(_job(), may_act=True)
    drawn += timeline(_job(), PHASES, may_act=True, tracebacks=True)
    assert EVIL not in drawn
    assert SAFE in drawn


def test_ticks_and_acts_are_only_for_those_who_may_act() -> None:
    assert 'type="checkbox"' not in job_table([_job()], ticked=(), may_act=False)
    assert "may only look" in head(_job(), may_act=False)
    assert "Retry from here" not in timeline(_job(), PHASES, may_act=False, tracebacks=False)


def test_timeline_shows_waits_bars_in_proportion_and_what_is_not_reached() -> None:
    drawn = timeline(_job(), PHASES, may_act=True, tracebacks=False)
    assert "waited 1 min" in drawn
    assert "width:25.0%" in drawn
    assert "width:100.0%" in drawn
    assert "tries again" in drawn
    assert drawn.count("not reached yet") == 1


def test_an_attempt_that_was_given_back_is_no_failure() -> None:
    given_back = _attempt("extract", 2, began=61, seconds=4, outcome="released", error="2 members are under way")
    drawn = timeline(_job(attempts=[given_back]), PHASES, may_act=True, tracebacks=True)
    assert "2 members are under way" in drawn
    assert 'class="failure"' not in drawn


def test_tracebacks_are_for_operators() -> None:
    assert "secret.py" in timeline(_job(), PHASES, may_act=True, tracebacks=True)
    assert "secret.py" not in timeline(_job(), PHASES, may_act=True, tracebacks=False)


def test_phases_before_the_failure_can_be_run_again_and_later_ones_cannot() -> None:
    drawn = timeline(_job(), PHASES, may_act=True, tracebacks=False)
    assert [name for name in ("store", "extract", "publish") if f'data-phase="{name}"' in drawn] == ["store", "extract"]


def test_a_job_that_is_done_cannot_be_retried_and_says_so() -> None:
    assert "a job that is done cannot be retried" in head(_job(state="done", percent=100), may_act=True)


@pytest.mark.parametrize(
    ("before", "said"), [(0, "none before it"), (41, "41 before it"), (10_001, "more than 10,000 before it")]
)
def test_place_in_the_queue_is_said(before: int, said: str) -> None:
    assert f"<dd>{said}</dd>" in head(_job(state="queued", percent=5, queue_position=before), may_act=True)


def test_moments_in_what_happens_next_are_told_by_the_viewers_clock() -> None:
    said = next_step(f"retries {EVIL} at 2026-03-01T12:05:00Z")
    assert said.startswith(f"retries {SAFE} at <time ")
    assert 'datetime="2026-03-01T12:05:00Z"' in said


def test_preview_counts_only_what_would_change() -> None:
    groups = [
        Group(
            pipeline="documents",
            phase=phase,
            state=state,
            category=None,
            jobs=jobs,
            usual_cost_usd=Decimal("0.25"),
            would_change=changes,
        )
        for phase, state, jobs, changes in (("extract", "failed", 4, True), ("store", "done", 9, False))
    ]
    drawn = preview_markup(preview_of(groups), "They are queued again.")
    assert "about $1.00" in drawn
    assert drawn.count("stays as it is") == 1


def test_address_says_what_is_looked_at() -> None:
    narrowing = Narrowing.from_query({"state": "failed", "text": " two words ", "stranger": "x", "phase": ""})
    assert narrowing.address() == "/jobs?text=two+words&state=failed"
    assert narrowing.at("9-7").address().endswith("&cursor=9-7")
    assert narrowing.at("9-7").changed("text", None) == Narrowing(state="failed")


def test_all_that_match_are_chosen_by_the_same_filters() -> None:
    assert Narrowing(state="failed", phase="extract").selection() == Selection(state="failed", phase="extract")
    assert Narrowing().selection() == Selection(everything=True)
    assert Narrowing(text="torn", metadata="ward=7").selection() == Selection(text="torn", metadata={"ward": "7"})
    with pytest.raises(InvalidInput):
        Narrowing(metadata="ward").filter()


def test_places_and_long_errors_are_said_in_a_line() -> None:
    place = Place(pages=(2, 3), heading=("Harbour", "Gates"), seconds=(5.0, 3725.0))
    assert place_words(place) == "pages 2-3 · 0:05 to 1:02:05 · Harbour > Gates"
    assert shortened("one\ntwo " * 50, most=12) == "one two one…"
