"""Runs as products ask for them: how one document's newest job goes, and how all do."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import Field

from holdfast.access.keys import Scope
from holdfast.api.callers import Call, Reader
from holdfast.api.questions import Duration, Retries
from holdfast.api.shapes import Shape
from holdfast.errors import NotFound

runs = APIRouter(prefix="/worker", tags=["runs"])


class Failure(Shape):
    """An attempt that failed."""

    job_id: int
    document_id: int
    source_name: str
    organisation: str
    pipeline: str
    phase: str
    outcome: str
    category: str | None
    error: str | None
    failed_at: datetime


class Metrics(Shape):
    """How the workers do: jobs by state, retries and durations of the last day by phase, what failed last."""

    status_counts: dict[str, int]
    retry_stats: list[Retries]
    avg_duration: list[Duration]
    recent_failures: list[Failure]


class RunStatus(Shape):
    """The newest job of a document. `task_id` is that job."""

    status: str
    state: str
    task_id: int
    retry_count: int
    error_message: str | None
    error_traceback: str | None = Field(description="For operators only.")
    submitted_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    metrics: dict[str, Any]


@runs.get("/metrics")
async def metrics(call: Reader, pipeline: Annotated[str | None, Query(min_length=1, max_length=63)] = None) -> Metrics:
    """How the workers do, in one pipeline or in all."""
    return Metrics.model_validate(await call.app.overview.worker_metrics(pipeline))


@runs.get("/runs/{document_id}/status")
async def status(call: Reader, document_id: Annotated[int, Path(ge=1, le=2**63 - 1)]) -> RunStatus:
    """How a document's newest job goes."""
    jobs = (await call.app.overview.pipeline_of(document_id))["jobs"]
    if not jobs:
        raise NotFound(f"document {document_id} has no job")
    newest = jobs[0]
    error = newest["last_error"] or {}
    return RunStatus.model_validate(
        {
            **newest,
            "task_id": newest["job_id"],
            "error_message": error.get("error"),
            "error_traceback": error.get("details", {}).get("traceback") if _operates(call) else None,
            "metrics": _metrics(newest, error),
        }
    )


def _operates(call: Call) -> bool:
    return call.caller.organisation is None and call.caller.scope.includes(Scope.ADMIN)


def _metrics(job: dict[str, Any], error: dict[str, Any]) -> dict[str, Any]:
    """What its attempts took and cost; what the newest one said of itself besides."""
    told = [attempt["output"]["metrics"] for attempt in job["attempts"] if _tells(attempt)]
    return {
        "duration_seconds": sum(attempt["seconds"] for attempt in job["attempts"]),
        "retry_count": job["retry_count"],
        "cost_usd": float(job["total_cost_usd"]),
        **({"error_type": error.get("error_type")} if error else {}),
        **(told[-1] if told else {}),
    }


def _tells(attempt: dict[str, Any]) -> bool:
    output = attempt["output"]
    return isinstance(output, dict) and isinstance(output.get("metrics"), dict)
