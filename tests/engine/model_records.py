"""The model's records: plain values, one per row that the database should hold."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

ZERO = Decimal(0)
FINAL = ("done", "deadletter", "cancelled")

Handle = tuple[int, int]
"""A job and the token it was claimed under."""


class Scope(NamedTuple):
    """What a hold covers; None matches everything."""

    provider: str | None = None
    organisation: str | None = None
    pipeline: str | None = None
    phase: str | None = None
    budget: str | None = None


@dataclass(slots=True)
class Job:
    id: int
    document: int
    organisation: str
    phase: str
    status: str
    priority: int = 0
    state: str = "queued"
    run: int = 1
    token: int = 0
    worker: str | None = None
    started_at: datetime | None = None
    progress: float | None = None
    progress_at: datetime | None = None
    ready_at: datetime | None = None
    hold: Scope | None = None
    retry_count: int = 0
    crash_count: int = 0
    cost: Decimal = ZERO

    @property
    def handle(self) -> Handle:
        return self.id, self.token

    def leave_worker(self, state: str) -> None:
        """The attempt is over; the job stands elsewhere now."""
        self.state = state
        self.worker = self.started_at = self.progress = self.progress_at = None
        self.ready_at = self.hold = None


@dataclass(slots=True)
class Document:
    id: int
    organisation: str
    content: str | None = None
    duplicate_of: int | None = None
    failure_state: str | None = None
    failures: dict[str, int] = field(default_factory=dict)
    cool_down_until: datetime | None = None
    metadata: dict[str, int] = field(default_factory=dict)

    def clear(self, failure_state: str | None) -> None:
        """Forget every failure."""
        self.failure_state, self.failures, self.cool_down_until = failure_state, {}, None


@dataclass(slots=True)
class Attempt:
    """One that has ended. `known` says whether anyone could tell what it cost; None where nobody asks."""

    outcome: str
    run: int
    phase: str
    worker: str | None
    started_at: datetime | None
    cost: Decimal = ZERO
    known: bool | None = None
    resumed_as: int | None = None
    taken_back: bool = False

    @property
    def may_become_known(self) -> bool:
        return self.known is not True and (self.outcome == "cancelled" or self.taken_away or self.known is False)

    @property
    def taken_away(self) -> bool:
        """Whether it was taken from its worker, which may still tell how it ended."""
        return self.outcome == "lost" or self.taken_back


@dataclass(slots=True)
class Worker:
    """`in_touch_since` is when it was heard after its last gap of half a lease."""

    seen_at: datetime
    in_touch_since: datetime
    lost: bool = False
    stopped: bool = False

    @property
    def gone(self) -> bool:
        return self.lost or self.stopped


@dataclass(slots=True)
class Hold:
    until: datetime | None
    released: bool = False
    needs: Decimal | None = None

    def in_force(self, now: datetime) -> bool:
        return not self.released and (self.until is None or self.until > now)


@dataclass(slots=True)
class Day:
    limit: Decimal
    reserved: Decimal = ZERO
    spent: Decimal = ZERO
    overrun: Decimal = ZERO
    refusals: int = 0

    @property
    def left(self) -> Decimal:
        return self.limit - self.reserved - self.spent


@dataclass(slots=True)
class Entry:
    day: datetime
    reserved: Decimal = ZERO
    spent: Decimal = ZERO
    overrun: Decimal = ZERO
    open: bool = True
