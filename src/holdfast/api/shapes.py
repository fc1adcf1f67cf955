"""What the API answers, field by field."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

Money = Annotated[Decimal, PlainSerializer(float, return_type=float)]


class Shape(BaseModel):
    """Takes more than it shows: what the engine knows besides stays inside."""

    model_config = ConfigDict(extra="ignore", from_attributes=True)

    @classmethod
    def each(cls, rows: Iterable[dict[str, Any]]) -> list[Self]:
        """One for every row of the overview."""
        return [cls.model_validate(row) for row in rows]


class LastError(Shape):
    """A failure in the public shape."""

    component: str = Field(examples=["parse"])
    code: str | None = Field(examples=["ENCRYPTED"])
    category: str = Field(examples=["encrypted"])
    message: str = Field(examples=["the file needs a password, submit it without one"])
    timestamp: datetime
    retryable: bool
    retry_count: int
    max_retries: int | None
    retry_at: datetime | None = None
    details: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def read(cls, stored: dict[str, Any] | None) -> "LastError | None":
        """From the shape in which the engine keeps it; tracebacks are for operators."""
        if stored is None:
            return None
        details = {key: value for key, value in (stored.get("details") or {}).items() if key != "traceback"}
        return cls(
            component=stored["component"],
            code=stored.get("error_code"),
            category=stored["category"],
            message=stored["error"],
            timestamp=stored["failed_at"],
            retryable=stored["retryable"],
            retry_count=stored["retry_count"],
            max_retries=stored.get("max_retries"),
            retry_at=stored.get("retry_at"),
            details=details,
        )


class Attempt(Shape):
    """One try of one phase."""

    phase: str
    run: int
    attempt: int
    outcome: str = Field(examples=["completed"])
    started_at: datetime
    ended_at: datetime | None
    seconds: float
    cost_usd: Money
    category: str | None
    error: LastError | None

    @classmethod
    def read(cls, row: dict[str, Any]) -> "Attempt":
        """From a row of the overview. A cancellation is no failure."""
        error = row["error"] if row["error"] and "component" in row["error"] else None
        return cls.model_validate({**row, "error": LastError.read(error)})


class Job(Shape):
    """Where a job stands and what happens next."""

    job_id: int
    document_id: int
    organisation: str
    source_name: str
    platform: str
    pipeline: str
    phase: str
    status: str = Field(examples=["chunks_stored"])
    state: str = Field(examples=["queued"])
    percent: int = Field(description="-1: there will be none without help.")
    retry_count: int
    max_retries: int | None
    retry_at: datetime | None
    last_error: LastError | None
    total_cost_usd: Money
    submitted_at: datetime
    queued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    flow: str = Field(examples=["new"], description="old: an installation that is being taken over carries it.")
    next: str = Field(examples=["waits for a worker that runs extract"])

    @classmethod
    def read(cls, row: dict[str, Any]) -> "Job":
        """From a row of the overview."""
        return cls.model_validate({**row, "last_error": LastError.read(row["last_error"])})


class JobWithAttempts(Job):
    """A job with its whole life."""

    attempts: list[Attempt]
    queue_position: int | None = Field(
        description="How many jobs are claimed before it; 10001: more than 10000; null: it is not queued."
    )

    @classmethod
    def read(cls, row: dict[str, Any]) -> "JobWithAttempts":
        """From a row of the overview with its attempts."""
        attempts = [Attempt.read(attempt) for attempt in row["attempts"]]
        return cls.model_validate({**row, "last_error": LastError.read(row["last_error"]), "attempts": attempts})


class Jobs(Shape):
    """A page of jobs."""

    jobs: list[Job]
    cursor: str | None = Field(description="Ask with it for the next page; null: this was the last.")


class Warning(Shape):
    """What the document's owner should know though it stopped nothing."""

    code: str
    message: str

    @classmethod
    def read_all(cls, rows: list[dict[str, Any]]) -> "list[Warning]":
        """From the document's metadata, to which its sender may have written anything."""
        return [cls.model_validate(row) for row in rows if None not in (row["code"], row["message"])]


class Known(Shape):
    """How much was learned from a document."""

    chunks: int
    embeddings: int
    entities: int
    relations: int


class Document(Shape):
    """A document, its jobs and what is known from it."""

    document_id: int
    organisation: str
    source_name: str
    platform: str
    source_location: str | None
    content_hash: str | None
    duplicate_of: int | None
    parent_id: int | None
    metadata: dict[str, Any]
    failure_state: str | None
    created_at: datetime
    jobs: list[JobWithAttempts]
    known: Known
    warnings: list[Warning]


class Accepted(Shape):
    """A document that was taken in. `result`: created, existing, duplicate, unchanged or permanent_failure.

    `metadata_merged`: it was known, and this time its metadata changed.
    """

    document_id: int
    job_id: int | None
    result: str = Field(examples=["created"])
    metadata_merged: bool = False


class Removed(Shape):
    """The receipt of a removal: everything that is gone, counted."""

    documents: int
    chunks: int
    embeddings: int
    entities: int
    relations: int
    stories: int
    readings: int
    answers: int
    config_files: int
    stanzas: int
    settings: int
    errors: int
    artifacts: int
    bytes: int
    artifacts_waiting: int


class Acted(Shape):
    """What became of the jobs: how many per result, and the first ids of each."""

    counts: dict[str, int]
    ids: dict[str, list[int]]


class Meeting(Shape):
    """Jobs that an act would meet, and what they would cost at past prices."""

    pipeline: str
    phase: str
    state: str
    category: str | None
    jobs: int
    usual_cost_usd: Money | None
    would_change: bool


class Preview(Shape):
    """What an act would do; nothing was changed."""

    jobs: int
    cost_usd: Money | None = Field(description="At past prices; null: a phase among them has none yet.")
    groups: list[Meeting]


class Trial(Shape):
    """A few jobs that are retried first; the rest follows when they get past the phase they had failed in."""

    trial_id: int
    state: Literal["trying", "passed", "stopped"]
    organisation: str | None
    filter: dict[str, Any]
    first_jobs: list[int]
    retried: int = Field(description="How many of the rest were retried so far.")
    reason: str | None
    created_at: datetime
    created_by: str
    ended_at: datetime | None
    why: str | None = Field(description="Why it was stopped.")
