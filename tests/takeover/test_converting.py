"""What an old row becomes, as a table."""

import json
from typing import Any

import pytest

from holdfast.errors import Category
from holdfast.takeover.converting import Becomes, Flow, Left, convert
from holdfast.takeover.old_row import OldRow
from holdfast.takeover.stages import Stages
from tests.takeover.expected import COMPONENTS, expected
from tests.takeover.old_database import STATES, STATUSES

PHASES = (
    ("store", "storage", "pending_upload", "pending_upload", "store", "uploaded"),
    ("extract", "parse", "uploaded", "parse_queued", "parsing", "parsed"),
    ("validate", "validation", "parsed", "parsed", "validate", "parse_validated"),
    ("chunk", "chunking", "parse_validated", "parse_validated", "chunking", "chunks_stored"),
    ("embed", "embedding", "chunks_stored", "embedding_queued", "embedding_in_progress", "embeddings_stored"),
    ("publish", "publishing", "embeddings_stored", "embeddings_stored", "publishing", "complete"),
)
NAMES = ("name", "component", "resumes_from", "queued_status", "working_status", "done_status")
STAGES = Stages.of(dict(zip(NAMES, phase, strict=True)) for phase in PHASES)


def row(status: str | None = "chunking", state: str | None = "retryable", **texts: str | None) -> OldRow:
    return OldRow("17", "{}", {"status": status, "state": state, **texts})


def become(old: OldRow, *, flow: Flow = "new", workers_stopped: bool = False) -> Becomes:
    becomes = convert(old, STAGES, flow=flow, workers_stopped=workers_stopped)
    assert isinstance(becomes, Becomes)
    return becomes


def error_of(**texts: str | None) -> dict[str, Any]:
    error = become(row(**texts)).last_error
    assert error is not None
    return error


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("state", STATES)
def test_every_status_with_every_state_has_its_place(status: str | None, state: str | None) -> None:
    becomes = convert(row(status, state), STAGES, flow="new", workers_stopped=False)

    if isinstance(becomes, Left):
        assert expected(status, state) is None
        assert becomes.reason
    else:
        assert (becomes.flow, becomes.status, becomes.state) == expected(status, state)


@pytest.mark.parametrize("status", COMPONENTS)
def test_failure_is_named_by_its_component_and_keeps_its_old_status(status: str) -> None:
    becomes = become(row(status, "retryable"))

    assert becomes.retries
    assert becomes.last_error is not None
    assert becomes.last_error["component"] == COMPONENTS[status]
    assert becomes.last_error["retryable"] is True
    assert becomes.last_error["details"] == {"original_status": status, "original_state": "retryable"}


@pytest.mark.parametrize("status", ["chunking", "failed_parse"])
def test_with_workers_stopped_nothing_is_worked_on(status: str) -> None:
    assert become(row(status, "working")).flow == "old"
    stopped = become(row(status, "working"), workers_stopped=True)
    assert (stopped.flow, stopped.state) == ("new", "queued" if status == "chunking" else "failed")


def test_given_up_is_not_tried_again_by_itself() -> None:
    becomes = become(row("failed_parse", "deadletter", last_error='{"retryable": true}'))

    assert (becomes.state, becomes.retries) == ("deadletter", False)
    assert becomes.last_error is not None
    assert becomes.last_error["retryable"] is False


def test_contradiction_is_said_and_not_retried() -> None:
    becomes = become(row("chunking", "done", last_error='"all fine"'))

    assert (becomes.state, becomes.retries) == ("failed", False)
    assert becomes.last_error is not None
    assert "chunking is not where documents end" in str(becomes.last_error["error"])
    assert becomes.last_error["details"]["original_error"] == "all fine"  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("state", "shown"), [("queued", "held"), ("retryable", "failed"), ("deadletter", "deadletter"), ("done", "failed")]
)
def test_in_the_old_flow_it_is_shown_and_never_due(state: str, shown: str) -> None:
    becomes = become(row("chunking", state), flow="old")

    assert (becomes.flow, becomes.state, becomes.retries, becomes.phase) == ("old", shown, False, "chunk")


def test_job_goes_on_where_it_stood_only_with_an_input() -> None:
    assert become(row("failed_embedding", input='{"text": {}}')).phase == "embed"
    assert become(row("failed_embedding", input=None)).phase == "store"
    assert become(row("failed_embedding", input="null")).phase == "store"


def test_without_a_state_column_only_what_failed_or_ended_is_safe_to_take() -> None:
    def standing(status: str) -> tuple[str, str]:
        becomes = become(OldRow("1", "{}", {"status": status}))
        return becomes.flow, becomes.state

    assert standing("chunking") == ("old", "held")
    assert standing("failed_parse") == ("new", "failed")
    assert standing("complete") == ("new", "done")


@pytest.mark.parametrize(
    ("texts", "state"),
    [
        ({"retry_count": "2"}, "failed"),
        ({"retry_count": "3"}, "deadletter"),
        ({"retry_count": "3", "last_error": '{"retryable": false}'}, "failed"),
        ({"retry_count": "3", "last_error": '{"category": "corrupt_input"}'}, "failed"),
        ({"retry_count": "3", "last_error": '{"category": "auth"}'}, "failed"),
    ],
)
def test_only_retries_that_are_counted_can_be_used_up(texts: dict[str, str], state: str) -> None:
    assert become(row("failed_parse", **texts)).state == state
    assert become(row("failed_parse", **texts), flow="old").state == "failed"
    assert become(row("failed_parse", "queued", **texts)).state == "failed"


def test_every_field_of_an_error_is_filled() -> None:
    assert error_of() == {
        "component": "chunking",
        "category": "unknown",
        "error": "the old installation left no message",
        "error_type": None,
        "error_code": "UNKNOWN",
        "failed_at": None,
        "correlation_id": "takeover-17",
        "retry_count": 0,
        "max_retries": 3,
        "retryable": True,
        "details": {"original_status": "chunking", "original_state": "retryable"},
    }


def test_what_an_old_error_says_is_kept() -> None:
    old = {
        "component": "embedding",
        "category": "rate_limit",
        "error": "slow down",
        "error_type": "TooMany",
        "error_code": "E429",
        "failed_at": "2025-11-03T10:00:00",
        "correlation_id": "abc",
        "retry_count": 2,
        "retryable": False,
    }
    error = error_of(last_error=json.dumps(old))

    assert error | {"details": None} == old | {
        "failed_at": "2025-11-03T10:00:00+00:00",
        "max_retries": 3,
        "details": None,
    }
    assert error["details"]["original_error"] == old


@pytest.mark.parametrize(
    ("written", "message", "original"),
    [
        ('"just a text"', "just a text", "just a text"),
        ("no json at all", "no json at all", "no json at all"),
        ("[1]", None, [1]),
        ("17", None, 17),
        ('{"error": 17}', None, {"error": 17}),
        ('{"error": "nul \\u0000", "\\ud800": [1e999]}', "nul \ufffd", {"error": "nul \ufffd", "\ufffd": ["1e999"]}),
        ("[" * 5_000, "[" * 1_000, "[" * 5_000),
        ("9" * 5_000, "9" * 1_000, "9" * 5_000),
        ("x" * 9_000, "x" * 1_000, "x" * 8_000 + "…"),
    ],
    ids=["text", "not-json", "list", "number", "wrong-type", "nul", "deep", "long-number", "huge"],
)
def test_odd_errors_are_kept_as_far_as_they_can_be(written: str, message: str | None, original: object) -> None:
    error = error_of(last_error=written)

    assert error["error"] == (message or "the old installation left no message")
    assert error["details"]["original_error"] == original


@pytest.mark.parametrize(
    ("category", "becomes"), [("corrupt_input", "corrupt_input"), ("weather", "unknown"), (3, "unknown")]
)
def test_category_is_ours_or_unknown(category: object, becomes: str) -> None:
    assert error_of(last_error=json.dumps({"category": category}))["category"] == Category(becomes)


@pytest.mark.parametrize(
    ("retryable", "retries"), [(False, False), ("false", False), ("no", False), (True, True), (None, True), (7, True)]
)
def test_error_that_does_not_say_no_is_retried(retryable: object, retries: bool) -> None:
    assert become(row(last_error=json.dumps({"retryable": retryable}))).retries is retries


@pytest.mark.parametrize(
    ("texts", "count"),
    [
        ({"retry_count": "2"}, 2),
        ({"retry_count": "-1"}, 0),
        ({"retry_count": "many"}, 0),
        ({"retry_count": "1e400"}, 0),
        ({"last_error": '{"retry_count": 2}'}, 2),
        ({"retry_count": "1", "last_error": '{"retry_count": 2}'}, 1),
    ],
)
def test_retries_are_counted_on(texts: dict[str, str], count: int) -> None:
    assert error_of(**texts)["retry_count"] == count
