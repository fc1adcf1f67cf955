"""What an old row becomes. One function without a database: the same row always becomes the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from holdfast.engine.attempt import Json
from holdfast.engine.policy import DOUBLING, PERMANENT
from holdfast.errors import Category
from holdfast.takeover.old_row import OldRow, cleaned, count_of, moment_of
from holdfast.takeover.stages import MIXED, Stage, Stages

Flow = Literal["new", "old"]
State = Literal["queued", "failed", "held", "done", "deadletter"]

STATES = ("queued", "working", "retryable", "done", "deadletter")
STILL_WORKED_ON = "an old worker may be on it: run again when it is not, or with --workers-stopped"
BY_CHOICE = "chosen for the old flow"
NO_MESSAGE = "the old installation left no message"
CONTRADICTION = (
    "the old installation called it done, but {status} is not where documents end: look at it, then retry it"
)
_MAX_RETRIES = len(DOUBLING.rules[Category.UNKNOWN].wait_seconds)
_CATEGORIES = frozenset(category.value for category in Category)
_LONGEST_MESSAGE = 1_000
_LARGEST_ERROR = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Becomes:
    """Where a row's job stands, and who carries it. `retries`: it is tried again by itself."""

    flow: Flow
    phase: str
    status: str
    state: State
    retries: bool = False
    last_error: dict[str, Json] | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Left:
    """A row that is not taken over, and why."""

    reason: str


def convert(row: OldRow, stages: Stages, *, flow: Flow, workers_stopped: bool) -> Becomes | Left:
    """What becomes of a row in the flow that was chosen for it."""
    if row.unreadable is not None:
        return Left(f"it cannot be read: {row.unreadable}")
    status, state = row.text("status"), row.text("state")
    if status is not None and status in stages.final:
        reason = BY_CHOICE if flow == "old" else None
        return Becomes(flow=flow, phase=stages.last_phase, status=status, state="done", reason=reason)
    mixed = MIXED.get(status or "")
    stage = stages.under_way.get(mixed.status if mixed else status or "")
    if status is None or stage is None:
        return Left(_unknown("status", status))
    if "state" not in row.texts:
        # Without that column nobody can tell whether a worker is on it.
        state = "retryable" if mixed else "working"
    if state not in STATES:
        return Left(_unknown("state", state))
    error = _Error(row, component=mixed.component if mixed else None, usual=stage.component)
    if state == "retryable" and flow == "new" and error.is_used_up:
        state = "deadletter"
    if state == "working" and workers_stopped:
        state = "queued"
    if state == "queued" and mixed:
        # Tried once more, however often before: the old installation has decided that.
        state = "retryable"
    worked_on = state == "working"
    return _standing(
        _Place(
            flow="old" if worked_on else flow,
            stage=stage,
            status=mixed.status if mixed else status,
            first_phase=stages.first_phase,
            reason=STILL_WORKED_ON if worked_on else BY_CHOICE if flow == "old" else None,
        ),
        state,
        error=error,
    )


def retries_before(row: OldRow) -> int:
    """How often the old installation tried again: by the row, or else by its error."""
    if row.text("retry_count") is not None:
        return row.whole_number("retry_count")
    error = row.json("last_error")
    return count_of(error.get("retry_count")) if isinstance(error, dict) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    flow: Flow
    stage: Stage
    status: str
    first_phase: str
    reason: str | None


def _standing(place: _Place, state: str, *, error: "_Error") -> Becomes:
    match state:
        case "deadletter":
            return _becoming(place, "deadletter", error, error.written(retryable=False))
        case "done":
            message = CONTRADICTION.format(status=place.status)
            return _becoming(place, "failed", error, error.written(retryable=False, message=message))
        case "retryable":
            return _becoming(place, "failed", error, error.written(retryable=error.retryable))
    before = error.written(retryable=error.retryable) if error.was_there else None
    return _becoming(place, "queued" if place.flow == "new" else "held", error, before)


def _becoming(place: _Place, state: State, error: "_Error", written: dict[str, Json] | None) -> Becomes:
    # Nothing here holds what the old flow made of a document: without an input it goes on from the beginning.
    goes_on_there = place.flow == "old" or error.row.json("input") is not None
    return Becomes(
        flow=place.flow,
        phase=place.stage.phase if goes_on_there else place.first_phase,
        status=place.status,
        state=state,
        retries=state == "failed" and place.flow == "new" and written is not None and bool(written["retryable"]),
        last_error=written,
        reason=place.reason,
    )


class _Error:
    """The old error in the one shape that errors have here. What was there stays readable in its details."""

    def __init__(self, row: OldRow, *, component: str | None, usual: str) -> None:
        self.row = row
        self._component = component
        self._usual = usual
        self._old = row.json("last_error")
        self._fields: Mapping[str, Json] = self._old if isinstance(self._old, dict) else {}

    @property
    def was_there(self) -> bool:
        return self._old is not None

    @property
    def retryable(self) -> bool:
        """What the old error says; one that says nothing can be retried, unless its category never is."""
        said = self._fields.get("retryable")
        if said is None:
            return self._category() not in PERMANENT
        return str(said).lower() not in ("false", "0", "no")

    @property
    def is_used_up(self) -> bool:
        """Whether it could be retried, had that not been done as often as the policy allows."""
        limited = DOUBLING.rules[self._category()].max_retries is not None
        return self.retryable and limited and retries_before(self.row) >= _MAX_RETRIES

    def written(self, *, retryable: bool, message: str | None = None) -> dict[str, Json]:
        """All fields; `failed_at` is None where nobody knows when, and the database's clock has to do."""
        return {
            "component": self._component or self._text("component") or self._usual,
            "category": self._category().value,
            "error": message or self._message(),
            "error_type": self._text("error_type"),
            "error_code": self._text("error_code") or self._category().upper(),
            "failed_at": moment_of(self._fields.get("failed_at") or self._fields.get("timestamp"))
            or self.row.moment("updated_at"),
            "correlation_id": self._text("correlation_id") or f"takeover-{cleaned(self.row.key)[:200]}",
            "retry_count": retries_before(self.row),
            "max_retries": _MAX_RETRIES,
            "retryable": retryable,
            "details": self._details(),
        }

    def _text(self, field: str) -> str | None:
        value = self._fields.get(field)
        return value[:_LONGEST_MESSAGE] if isinstance(value, str) and value.strip() else None

    def _category(self) -> Category:
        category = self._fields.get("category")
        return Category(category) if isinstance(category, str) and category in _CATEGORIES else Category.UNKNOWN

    def _message(self) -> str:
        if isinstance(self._old, str) and self._old.strip():
            return self._old[:_LONGEST_MESSAGE]
        return self._text("error") or self._text("message") or NO_MESSAGE

    def _details(self) -> dict[str, Json]:
        details: dict[str, Json] = {
            "original_status": self.row.text("status"),
            "original_state": self.row.text("state"),
        }
        if self.was_there:
            whole = self.row.text("last_error") or ""
            details["original_error"] = (
                self._old if len(whole) <= _LARGEST_ERROR else f"{cleaned(whole[:_LARGEST_ERROR])}…"
            )
        return details


def _unknown(what: str, found: str | None) -> str:
    return f"it has no {what}" if found is None else f'nobody knows the {what} "{found[:80]}"'
