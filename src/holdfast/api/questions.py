"""Questions about the work: how it flows, how long it takes, what waits and what is stuck."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query

from holdfast.api.callers import Operator, Reader
from holdfast.api.shapes import Shape
from holdfast.engine.overview import STUCK_MINUTES

questions = APIRouter(prefix="/admin", tags=["questions"])

Days = Annotated[int, Query(ge=1, le=366)]
Hours = Annotated[int, Query(ge=1, le=8784)]
Minutes = Annotated[int, Query(ge=0, le=525_600)]
Limit = Annotated[int, Query(ge=1, le=500)]


class Health(Shape):
    """The whole at a glance. `problems` says in words what someone should look at."""

    healthy: bool
    problems: list[str]
    queued: int
    working: int
    failed: int
    held: int
    deadletter: int
    stuck: int
    oldest_queued_seconds: float | None
    completed_last_hour: int
    failed_last_hour: int
    error_rate: float | None
    workers: int
    holds: int


class Stuck(Shape):
    """A job that works but makes no progress."""

    job_id: int
    document_id: int
    source_name: str
    organisation: str
    pipeline: str
    phase: str
    started_at: datetime
    progress: float | None
    progress_at: datetime
    minutes: float


class Throughput(Shape):
    """Attempts of a phase that ended in an hour; `uncharged` are lost, released or cancelled ones."""

    hour: datetime
    pipeline: str
    phase: str
    completed: int
    failed: int
    uncharged: int


class Duration(Shape):
    """How long completed attempts of a phase took."""

    pipeline: str
    phase: str
    completed: int
    p50_seconds: float
    p95_seconds: float
    max_seconds: float
    avg_seconds: float


class Backlog(Shape):
    """What waits before a phase, and whether it becomes more."""

    pipeline: str
    phase: str
    queued: int
    oldest_queued_seconds: float | None
    arrived_last_hour: int
    completed_last_hour: int
    growth_last_hour: int


class Retries(Shape):
    """How often a phase failed, was tried again and recovered."""

    pipeline: str
    phase: str
    failures: int
    retries: int
    recovered: int
    recovery_rate: float | None
    average_wait_seconds: float | None


class Flow(Shape):
    """Attempts of a phase that ended in a stretch of time."""

    bucket_at: datetime
    pipeline: str
    phase: str
    completed: int
    failed: int


class Platform(Shape):
    """The share of attempts that failed for documents of one origin."""

    platform: str
    attempts: int
    failed: int
    failure_rate: float


@questions.get("/health")
async def health(call: Operator) -> Health:
    """The whole at a glance."""
    return Health.model_validate(await call.app.overview.health())


@questions.get("/stuck")
async def stuck(call: Reader, minutes: Minutes = STUCK_MINUTES) -> list[Stuck]:
    """Jobs that work but made no progress for that long, the longest first."""
    return Stuck.each(await call.app.overview.stuck(minutes))


@questions.get("/throughput")
async def throughput(call: Reader, hours: Hours = 24) -> list[Throughput]:
    """Attempts that ended, by hour and phase, the newest first."""
    return Throughput.each(await call.app.overview.throughput(hours))


@questions.get("/durations")
async def durations(call: Reader, hours: Hours = 24) -> list[Duration]:
    """How long completed attempts took, by phase."""
    return Duration.each(await call.app.overview.durations(hours))


@questions.get("/backlog")
async def backlog(call: Reader) -> list[Backlog]:
    """What waits before each phase, and whether it becomes more."""
    return Backlog.each(await call.app.overview.backlog())


@questions.get("/retries")
async def retries(call: Reader, days: Days = 7) -> list[Retries]:
    """How often phases failed, were tried again and recovered."""
    return Retries.each(await call.app.overview.retries(days))


@questions.get("/flow")
async def flow(
    call: Reader,
    seconds: Annotated[int, Query(ge=1, le=86_400)] = 900,
    bucket_seconds: Annotated[int, Query(ge=1, le=86_400)] = 30,
) -> list[Flow]:
    """Attempts that ended of late, by stretches of time and phase; a stretch without any has no row."""
    return Flow.each(await call.app.overview.flow(seconds, bucket_seconds))


@questions.get("/platforms")
async def platforms(call: Reader, days: Days = 7) -> list[Platform]:
    """The share of attempts that failed, by where documents came from."""
    return Platform.each(await call.app.overview.failure_rate_by_platform(days))
