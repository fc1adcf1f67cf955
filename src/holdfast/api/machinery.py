"""Questions about what carries the work: workers, pipelines, patience, operators' acts and the database."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from holdfast.api.callers import Operator
from holdfast.api.questions import Limit
from holdfast.api.shapes import Shape

machinery = APIRouter(prefix="/admin", tags=["machinery"])


class Worker(Shape):
    """A worker process and what it has in hand."""

    worker_id: str
    condition: str = Field(examples=["alive"], description="alive, silent, lost or stopped.")
    host: str
    pid: int
    lanes: list[dict[str, Any]]
    working: int
    started_at: datetime
    seen_at: datetime
    ended_at: datetime | None


class Rule(Shape):
    """The patience of one policy with one category."""

    policy: str
    two_level: bool
    category: str
    charged: bool
    max_retries: int | None
    document_limit: int | None
    wait_seconds: list[float]
    jitter: float
    holds: str | None
    hold_seconds: float | None


class Phase(Shape):
    """A phase as it is registered."""

    name: str
    queued: str
    working: str
    done: str
    component: str
    policy: str
    limit_seconds: float
    provider: str | None
    budget: str | None
    retired: bool


class Pipeline(Shape):
    """A pipeline as it is registered, its phases in order."""

    name: str
    version: int
    starts: str
    registered_at: datetime
    phases: list[Phase]


class Act(Shape):
    """What someone did, and what that changed."""

    audit_id: int
    at: datetime
    actor: str
    action: str
    job_id: int | None
    reason: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class Table(Shape):
    """One of the tables that change most."""

    name: str
    live_rows: int
    dead_rows: int
    autovacuumed_at: datetime | None


class DatabaseFigures(Shape):
    """What tells of trouble before it comes; null where the server's rights hide it."""

    oldest_transaction_seconds: float | None
    hidden_sessions: int = Field(description="Sessions whose transactions this login may not see.")
    connections_used: int
    connections_max: int
    database_bytes: int | None
    oldest_xid_age: int
    live_rows: int
    dead_rows: int
    autovacuumed_at: datetime | None = Field(description="Of the table of jobs.")
    tables: list[Table]


@machinery.get("/workers")
async def workers(call: Operator) -> list[Worker]:
    """Every worker known, the newest first."""
    return Worker.each(await call.app.overview.workers())


@machinery.get("/policies")
async def policies(call: Operator) -> list[Rule]:
    """The patience in force, by policy and category."""
    return Rule.each(await call.app.overview.policies())


@machinery.get("/pipelines")
async def pipelines(call: Operator) -> list[Pipeline]:
    """Every pipeline registered, with its phases."""
    return Pipeline.each(await call.app.overview.pipelines())


@machinery.get("/audit")
async def audit(
    call: Operator, limit: Limit = 50, job_id: Annotated[int | None, Query(ge=1, le=2**63 - 1)] = None
) -> list[Act]:
    """What operators did, the newest first; to one job if it is named."""
    return Act.each(await call.app.overview.audit(limit, job_id))


@machinery.get("/database")
async def database(call: Operator) -> DatabaseFigures:
    """The database's own figures."""
    return DatabaseFigures.model_validate(await call.app.overview.database())
