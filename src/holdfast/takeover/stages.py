"""Where an old status leads in a pipeline: a table of what was called what, and the pipeline's own phases."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.db.connection import Database
from holdfast.engine.pipeline import Pipeline
from holdfast.errors import NotFound

DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True)
class Mixed:
    """A status that said both where a document stood and that it failed there."""

    status: str
    component: str


MIXED: Mapping[str, Mixed] = {
    "failed_parse": Mixed("parse_queued", "parse"),
    "failed_chunking": Mixed("chunking", "chunking"),
    "failed_embedding": Mixed("embedding_queued", "embedding"),
}


@dataclass(frozen=True, slots=True)
class Stage:
    """A status under way: the phase that goes on from it, and what that phase is called when it fails."""

    phase: str
    component: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """What a pipeline makes of each status."""

    first_phase: str
    last_phase: str
    final: frozenset[str]
    under_way: Mapping[str, Stage]

    @classmethod
    def of(cls, phases: Iterable[Mapping[str, str]]) -> "Stages":
        """From the pipeline's phases in their order."""
        phases = list(phases)
        under_way: dict[str, Stage] = {}
        for phase in phases:
            # Where two phases share a status, the earlier one still has to run.
            for status in (phase["resumes_from"], phase["queued_status"], phase["working_status"]):
                under_way.setdefault(status, Stage(phase["name"], phase["component"]))
        return cls(
            first_phase=phases[0]["name"],
            last_phase=phases[-1]["name"],
            final=frozenset({phases[-1]["done_status"], DUPLICATE}),
            under_way=under_way,
        )


async def stages_of(database: Database, pipeline: str, declared: Iterable[Pipeline] = ()) -> Stages:
    """The stages of a pipeline that is registered, or else declared; NotFound when there is none of that name."""
    rows = await database.fetch(
        "select name, component, resumes_from, queued_status, working_status, done_status from holdfast.phase"
        " where pipeline = $1 and retired_at is null order by position",
        pipeline,
    )
    if not rows:
        for one in declared:
            if one.name == pipeline:
                return _declared(one)
        raise NotFound(f'there is no pipeline "{pipeline}": name one that `holdfast queues` lists')
    return Stages.of(dict(row) for row in rows)


def _declared(pipeline: Pipeline) -> Stages:
    """As it will be once it is registered."""
    phases: Any = pipeline.declaration()["phases"]
    names = {"queued_status": "queued", "working_status": "working", "done_status": "done"}
    return Stages.of({**phase, **{name: phase[declared] for name, declared in names.items()}} for phase in phases)
