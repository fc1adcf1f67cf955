"""Jobs: listed, looked at, retried, cancelled, one or many."""

from decimal import Decimal
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from holdfast.api.callers import Call, Reader, Writer
from holdfast.api.shapes import Acted, Job, Jobs, JobWithAttempts, Meeting, Preview, Trial
from holdfast.engine.control import CANCEL, RESET, RETRY, Act, Control, Group, Tally
from holdfast.engine.selection import Selection
from holdfast.errors import InvalidInput

jobs = APIRouter(tags=["jobs"])

Id = Annotated[int, Path(ge=1, le=2**63 - 1)]
State = Literal["queued", "working", "failed", "held", "done", "deadletter", "cancelled"]
Word = Annotated[str | None, Query(min_length=1, max_length=255)]

ACTS: dict[str, Act] = {act.name: act for act in (RETRY, RESET, CANCEL)}


class Reason(BaseModel):
    """Why, for the audit log."""

    model_config = ConfigDict(extra="forbid")

    reason: str | None = Field(default=None, min_length=1, max_length=1000)


class Retry(Reason):
    """Where to go on; without a phase where it failed."""

    phase: str | None = Field(default=None, min_length=1, max_length=63)


class Bulk(Retry):
    """An act on all jobs that have this in common. Without any condition, say `everything`."""

    act: Literal["retry", "reset", "cancel"]
    dry_run: bool = Field(default=False, description="Only say what it would touch, and what that would cost.")
    ids: list[Annotated[int, Field(ge=1, le=2**63 - 1)]] = Field(default_factory=list, max_length=10_000)
    state: State | None = None
    pipeline: str | None = Field(default=None, min_length=1, max_length=63)
    in_phase: str | None = Field(default=None, min_length=1, max_length=63)
    component: str | None = Field(default=None, min_length=1, max_length=255)
    category: str | None = Field(default=None, min_length=1, max_length=255)
    organisation: str | None = Field(default=None, min_length=1, max_length=255)
    platform: str | None = Field(default=None, min_length=1, max_length=255)
    retryable: bool | None = None
    fingerprint: str | None = Field(default=None, min_length=1, max_length=255)
    everything: bool = False
    first: int | None = Field(
        default=None, ge=1, le=100, description="Retry only so many for now; the rest follows when they get past."
    )

    @model_validator(mode="after")
    def _tries_where_it_failed(self) -> "Bulk":
        if self.first is not None and (self.act != "retry" or self.phase is not None):
            raise ValueError("`first` goes with a retry where jobs failed: leave `phase` out, or `first`")
        return self

    def selection(self) -> Selection:
        """The jobs that are meant."""
        return Selection(
            ids=tuple(self.ids),
            state=self.state,
            pipeline=self.pipeline,
            phase=self.in_phase,
            component=self.component,
            category=self.category,
            organisation=self.organisation,
            platform=self.platform,
            retryable=self.retryable,
            fingerprint=self.fingerprint,
            everything=self.everything,
        )


@jobs.get("/jobs")
async def page(
    call: Reader,
    state: State | None = None,
    status: Word = None,
    pipeline: Word = None,
    phase: Word = None,
    component: Word = None,
    category: Word = None,
    organisation: Word = None,
    platform: Word = None,
    retryable: bool | None = None,
    fingerprint: Word = None,
    text: Annotated[
        str | None,
        Query(min_length=1, max_length=255, description="Words of a document's name; or a document's or job's number."),
    ] = None,
    metadata: Annotated[list[str] | None, Query(description="key=value, all of which must fit.", max_length=20)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Annotated[str | None, Query(pattern=r"^\d{1,18}-\d{1,18}$")] = None,
) -> Jobs:
    """Jobs, those of the newest documents first."""
    found = await call.app.overview.jobs(
        limit=limit,
        cursor=cursor,
        state=state,
        status=status,
        pipeline=pipeline,
        phase=phase,
        component=component,
        category=category,
        organisation=call.organisation(organisation) if organisation else call.caller.organisation,
        platform=platform,
        retryable=retryable,
        fingerprint=fingerprint,
        text=text,
        metadata=pairs(metadata or []),
    )
    return Jobs(jobs=[Job.read(row) for row in found["jobs"]], cursor=found["cursor"])


@jobs.get("/jobs/{job_id}")
async def show(call: Reader, job_id: Id) -> JobWithAttempts:
    """One job with its whole life."""
    return JobWithAttempts.read(await call.app.overview.job(job_id))


@jobs.post("/jobs/{job_id}/retry")
async def retry(call: Writer, job_id: Id, asked: Retry | None = None) -> Acted:
    """Queue it again where it failed, or from an earlier phase on; finished phases before that are kept."""
    asked = asked or Retry()
    return _acted(await _control(call).retry(Selection(ids=(job_id,)), phase=asked.phase, reason=asked.reason))


@jobs.post("/jobs/{job_id}/cancel")
async def cancel(call: Writer, job_id: Id, asked: Reason | None = None) -> Acted:
    """End it, waiting or running."""
    return _acted(await _control(call).cancel(Selection(ids=(job_id,)), reason=(asked or Reason()).reason))


@jobs.post("/jobs/{job_id}/reset")
async def reset(call: Writer, job_id: Id, asked: Reason | None = None) -> Acted:
    """Start it over from its first phase, and forget its document's failures."""
    return _acted(await _control(call).reset(Selection(ids=(job_id,)), reason=(asked or Reason()).reason))


@jobs.post("/jobs/bulk")
async def bulk(call: Writer, asked: Bulk) -> Acted | Preview | Trial:
    """Retry, reset or cancel many at once; with `dry_run` only say which, and what that would cost.

    With `first`, retry a few and the rest when they get past; the answer is the trial.
    """
    if asked.organisation is not None:
        call.organisation(asked.organisation)
    control, selection = _control(call), asked.selection()
    if asked.dry_run:
        return preview_of(await control.preview(ACTS[asked.act], selection))
    if asked.first is not None:
        return Trial.model_validate(await control.try_first(selection, first=asked.first, reason=asked.reason))
    match asked.act:
        case "retry":
            return _acted(await control.retry(selection, phase=asked.phase, reason=asked.reason))
        case "reset":
            return _acted(await control.reset(selection, reason=asked.reason))
        case "cancel":
            return _acted(await control.cancel(selection, reason=asked.reason))


@jobs.get("/trials")
async def trials(call: Reader, limit: Annotated[int, Query(ge=1, le=500)] = 50) -> list[Trial]:
    """What was tried on a few jobs before the rest, the newest first."""
    return Trial.each(await call.app.overview.trials(limit))


def _control(call: Call) -> Control:
    return call.app.control(call.name)


def _acted(tally: Tally) -> Acted:
    return Acted(counts=tally.counts, ids=tally.ids)


def preview_of(groups: list[Group]) -> Preview:
    """What an act would touch, all in all."""
    touched = [group for group in groups if group.would_change]
    costs = [group.usual_cost_usd * group.jobs for group in touched if group.usual_cost_usd is not None]
    return Preview(
        jobs=sum(group.jobs for group in touched),
        cost_usd=sum(costs, Decimal(0)) if len(costs) == len(touched) else None,
        groups=[Meeting.model_validate(group) for group in groups],
    )


def pairs(given: list[str]) -> dict[str, JsonValue] | None:
    """What metadata must contain, from key=value."""
    pairs: dict[str, JsonValue] = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not key or not equals:
            raise InvalidInput(f'metadata is asked for as key=value, not as "{one[:100]}"')
        pairs[key] = value
    return pairs or None
