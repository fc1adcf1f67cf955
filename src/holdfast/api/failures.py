"""Questions about failures: what fails, why, how often, and whether trying again helps."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from holdfast.api.callers import Reader
from holdfast.api.questions import Days, Limit
from holdfast.api.shapes import Shape

failures = APIRouter(prefix="/admin", tags=["failures"])

Grouping = Literal["category", "component", "platform", "fingerprint", "organisation"]


class Errors(Shape):
    """Logged errors that have something in common, with the newest as an example."""

    key: str | None
    errors: int
    charged: int
    documents: int
    first_at: datetime
    last_at: datetime
    component: str | None
    category: str
    example: str


class FailureGroup(Shape):
    """Errors with one cause, and how many jobs it keeps from going on."""

    fingerprint: str
    category: str
    component: str | None
    errors: int
    documents: int
    open_jobs: int = Field(description="Jobs that stand failed or given up with this cause now.")
    first_at: datetime
    last_at: datetime
    platforms: list[str]
    organisations: list[str] = Field(description="At most ten.")
    pipelines: list[str]
    phases: list[str]
    example: str
    example_job_id: int | None
    traceback: str | None = Field(description="Of the newest such job; for operators only.")


class Failing(Shape):
    """A document with its errors that counted."""

    document_id: int
    source_name: str
    organisation: str
    platform: str
    failure_state: str | None
    failure_count: int
    errors: int
    last_at: datetime
    category: str
    error: str


class Recovery(Shape):
    """How often retries of one category recover."""

    category: str | None
    retries: int
    recovered: int
    recovery_rate: float


class Offender(Shape):
    """A document that failed again and again with one cause."""

    document_id: int
    source_name: str
    organisation: str
    platform: str
    fingerprint: str
    component: str | None
    category: str
    times: int
    first_at: datetime
    last_at: datetime
    error: str


@failures.get("/errors")
async def errors(call: Reader, by: Grouping = "category", days: Days = 7) -> list[Errors]:
    """Logged errors in groups, the largest first."""
    return Errors.each(await call.app.overview.errors_by(by, days))


@failures.get("/failure-groups")
async def failure_groups(call: Reader, days: Days = 7, limit: Limit = 100) -> list[FailureGroup]:
    """Logged errors by cause, the most frequent first."""
    return FailureGroup.each(await call.app.overview.failure_groups(days, limit))


@failures.get("/top-failing")
async def top_failing(call: Reader, limit: Limit = 20, days: Days = 7) -> list[Failing]:
    """The documents with the most errors that counted."""
    return Failing.each(await call.app.overview.top_failing(limit, days))


@failures.get("/recovery")
async def recovery(call: Reader, days: Days = 7) -> list[Recovery]:
    """How often retries recover, by the category of what they retried; the most hopeless first."""
    return Recovery.each(await call.app.overview.recovery_by_category(days))


@failures.get("/repeat-offenders")
async def repeat_offenders(
    call: Reader, times: Annotated[int, Query(ge=1, le=1_000_000)] = 3, days: Days = 30
) -> list[Offender]:
    """Documents that failed at least so often with one cause: a bug, most likely."""
    return Offender.each(await call.app.overview.repeat_offenders(times, days))
