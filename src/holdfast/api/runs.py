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
from holdfast.pipelines import CONFIGS

FAILED = ("failed", "deadletter")

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
    """How the workers do: unfinished jobs by state, retries and durations of a day by phase, what failed last."""

    status_counts: dict[str, int]
    retry_stats: list[Retries]
    avg_duration: list[Duration]
    recent_failures: list[Failure]


class RunStatus(Shape):
    """The newest job of a document. `task_id` is that job."""

    pipeline: str
    status: str
    state: str
    percent: int = Field(description="-1: there will be none without help.")
    task_id: int
    retry_count: int = Field(description="How often its phases were tried again because they had failed.")
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
async def status(
    call: Reader,
    document_id: Annotated[int, Path(ge=1, le=2**63 - 1)],
    pipeline: Annotated[str | None, Query(min_length=1, max_length=63)] = None,
) -> RunStatus:
    """How a document's newest job goes, in one pipeline or in any."""
    document = await call.app.overview.pipeline_of(document_id)
    jobs = [job for job in document["jobs"] if pipeline in (None, job["pipeline"])]
    if not jobs:
        where = "" if pipeline is None else f" in {pipeline}"
        raise NotFound(f"document {document_id} has no job{where}")
    # The engine's own counter begins anew with every phase.
    retries = await call.app.database.fetchval("select holdfast.retries_of($1)", jobs[0]["job_id"])
    newest, attempts = jobs[0] | {"retry_count": retries}, jobs[0]["attempts"]
    error = newest["last_error"] or {}
    return RunStatus.model_validate(
        {
            **newest,
            "task_id": newest["job_id"],
            "error_message": error.get("error"),
            "error_traceback": error.get("details", {}).get("traceback") if _operates(call) else None,
            "started_at": attempts[0]["started_at"] if attempts else newest["started_at"],
            "finished_at": newest["finished_at"] or (attempts[-1]["ended_at"] if newest["state"] in FAILED else None),
            "metrics": _metrics(newest, error) | _told(document, newest),
        }
    )


def _operates(call: Call) -> bool:
    return call.caller.organisation is None and call.caller.scope.includes(Scope.ADMIN)


def _metrics(job: dict[str, Any], error: dict[str, Any]) -> dict[str, Any]:
    """What its attempts took and cost."""
    return {
        "duration_seconds": sum(attempt["seconds"] for attempt in job["attempts"]),
        "retry_count": job["retry_count"],
        "cost_usd": float(job["total_cost_usd"]),
        **({"error_type": error.get("error_type")} if error else {}),
    }


def _told(document: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """What a configuration run keeps with its document when it is complete."""
    is_run = job["pipeline"] == CONFIGS and job["state"] == "done"
    return document["metadata"].get("metrics", {}) if is_run else {}
