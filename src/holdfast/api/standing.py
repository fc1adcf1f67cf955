"""Where everything stands: for operators, monitors and Prometheus."""

from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from holdfast.api.callers import Operator, Reader
from holdfast.api.metrics import metrics_text
from holdfast.api.shapes import Money, Shape
from holdfast.app import App

standing = APIRouter(tags=["standing"])
probes = APIRouter(tags=["probes"])


class Queue(Shape):
    """How many jobs wait before a phase, are in it, or failed in it."""

    queued: int
    processing: int
    failed: int


class Standing(Shape):
    """Queues by phase, jobs without progress, and what failed last."""

    queues: dict[str, Queue]
    stuck_jobs: list[dict[str, Any]]
    recent_failures: list[dict[str, Any]]


class Budget(Shape):
    """A budget as it stands today."""

    name: str
    organisation: str | None
    limit_usd: Money
    reserved_usd: Money
    spent_usd: Money


class Hold(Shape):
    """What keeps jobs from being claimed."""

    hold_id: int
    provider: str | None
    organisation: str | None
    pipeline: str | None
    phase: str | None
    reason: str
    until: datetime | None


class Health(Shape):
    """Fine, or why not."""

    status: str


@standing.get("/admin/processing-status")
async def processing_status(call: Reader) -> Standing:
    """Queues, stuck jobs and recent failures; of the caller's organisation, if its key has one."""
    return Standing.model_validate(await call.app.overview.processing_status())


@standing.get("/budgets")
async def budgets(call: Operator) -> list[Budget]:
    """Every budget as it stands today."""
    return [Budget.model_validate(row) for row in await call.app.overview.budgets()]


@standing.get("/holds")
async def holds(call: Operator) -> list[Hold]:
    """The holds in force."""
    return [Hold.model_validate(row) for row in await call.app.overview.holds()]


@probes.get("/healthz")
async def healthz() -> Health:
    """Whether this process answers."""
    return Health(status="ok")


@probes.get("/readyz")
async def readyz(request: Request) -> Health:
    """Whether it can do its work: the database answers."""
    app: App = request.app.state.holdfast
    await app.database.fetchval("select 1")
    return Health(status="ok")


@probes.get("/metrics", response_class=PlainTextResponse)
async def metrics(call: Operator) -> PlainTextResponse:
    """For Prometheus."""
    return PlainTextResponse(
        await metrics_text(call.app.overview), media_type="text/plain; version=0.0.4; charset=utf-8"
    )
