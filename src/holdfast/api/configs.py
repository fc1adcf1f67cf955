"""Configuration archives over HTTP: what a run holds, and what differs between two."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from holdfast.api.callers import Reader
from holdfast.api.jobs import Id
from holdfast.api.shapes import Shape
from holdfast.configs.questions import MOST_SETTINGS, Change

configs = APIRouter(tags=["configs"])

Limit = Annotated[int, Query(ge=1, le=MOST_SETTINGS)]


class Setting(Shape):
    """A setting and where it stands; a stanza without settings has one whose key is null."""

    source_path: str = Field(examples=["app/default/inputs.conf"])
    file: str = Field(examples=["inputs.conf"])
    line: int
    stanza: str = Field(examples=["monitor:///var/log"])
    key: str | None
    value: str | None


class ParseError(Shape):
    """A line that could not be read, or not as it stands."""

    source_path: str
    line: int
    message: str
    text: str


class Run(Shape):
    """A run, a page of its settings, and the first of its lines that are not right."""

    run: int
    source_name: str
    job_id: int
    status: str = Field(examples=["COMPLETE"])
    state: str
    percent: int = Field(description="-1: there will be none without help.")
    metrics: dict[str, Any] | None
    error_message: str | None = Field(description="What went wrong last; null once the run is done.")
    next: str = Field(description="What happens next, in words.")
    settings: list[Setting]
    errors: list[ParseError]
    cursor: str | None = Field(description="Ask with it for the next page; null: this was the last.")


class Changed(Shape):
    """A setting that is not the same in both runs. What is not there has neither value nor line."""

    change: Change
    source_path: str
    stanza: str
    key: str
    old_value: str | None
    old_line: int | None
    new_value: str | None
    new_line: int | None


class Difference(Shape):
    """How many settings were added, removed and changed from one run to the other, and a page of them."""

    run: int
    other: int
    added: int
    removed: int
    changed: int
    changes: list[Changed]


@configs.get("/configs/{run}")
async def show_run(
    call: Reader,
    run: Id,
    file: Annotated[str | None, Query(min_length=1, max_length=1000, description="A path, or its last part.")] = None,
    stanza: Annotated[str | None, Query(min_length=1, max_length=1000)] = None,
    cursor: Annotated[str | None, Query(pattern=r"^\d{1,10}-\d{1,10}-\d{1,10}$")] = None,
    limit: Limit = 100,
) -> Run:
    """What a run read, setting by setting, with file and line."""
    shown = await call.app.configs.show(run, file=file, stanza=stanza, cursor=cursor, limit=limit)
    return Run.model_validate(shown)


@configs.get("/configs/{run}/diff/{other}")
async def diff_runs(
    call: Reader,
    run: Id,
    other: Id,
    first: Annotated[int, Query(ge=0, le=10**9, description="How many changes to pass over.")] = 0,
    limit: Limit = 100,
) -> Difference:
    """Which settings the other run has otherwise than this one."""
    return Difference.model_validate(await call.app.configs.diff(run, other, first=first, limit=limit))
