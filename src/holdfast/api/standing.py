"""Where everything stands: for operators, monitors and Prometheus."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import PlainTextResponse
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

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


class NewHold(BaseModel):
    """What to hold: those that are named narrow each other down. Without a moment it holds until it is released."""

    model_config = ConfigDict(extra="forbid")

    provider: str | None = Field(default=None, min_length=1, max_length=255)
    organisation: str | None = Field(default=None, min_length=1, max_length=255)
    pipeline: str | None = Field(default=None, min_length=1, max_length=63)
    phase: str | None = Field(default=None, min_length=1, max_length=63)
    until: AwareDatetime | None = None
    reason: str = Field(default="held by an operator", min_length=1, max_length=1000)


class Held(Shape):
    """A hold that was placed."""

    hold_id: int


class Released(Shape):
    """How many jobs waited for the hold; they go back to the queue in batches."""

    waiting: int


class NewLimit(BaseModel):
    """A daily limit, for one organisation or for all that have none of their own."""

    model_config = ConfigDict(extra="forbid")

    daily_limit_usd: Decimal = Field(ge=0, lt=10**12)
    organisation: str | None = Field(default=None, min_length=1, max_length=255)
    time_zone: str | None = Field(default=None, min_length=1, max_length=63, examples=["Europe/Zurich"])


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
    return Budget.each(await call.app.overview.budgets())


@standing.get("/holds")
async def holds(call: Operator) -> list[Hold]:
    """The holds in force."""
    return Hold.each(await call.app.overview.holds())


@standing.post("/holds", status_code=201)
async def hold(call: Operator, asked: NewHold) -> Held:
    """Keep a scope from being claimed. What runs goes on, and nobody loses an attempt."""
    scope = asked.model_dump(include={"provider", "organisation", "pipeline", "phase"}, exclude_none=True)
    return Held(hold_id=await call.app.control(call.name).hold(scope, until=asked.until, reason=asked.reason))


@standing.delete("/holds/{hold_id}")
async def release(call: Operator, hold_id: Annotated[int, Path(ge=1, le=2**63 - 1)]) -> Released:
    """End a hold."""
    return Released(waiting=await call.app.control(call.name).release(hold_id))


@standing.put("/budgets/{name}")
async def set_budget(call: Operator, name: Annotated[str, Path(max_length=255)], asked: NewLimit) -> list[Budget]:
    """Set a daily limit, from today on; answers the budgets of that name as they stand then."""
    await call.app.control(call.name).set_budget(
        name, asked.daily_limit_usd, organisation=asked.organisation, time_zone=asked.time_zone
    )
    return Budget.each(row for row in await call.app.overview.budgets() if row["name"] == name)


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
