"""One execution of one phase, as its handler sees it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from holdfast.engine.answer import Answer

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


@dataclass(frozen=True, slots=True)
class Document:
    """What is carried: where it came from and what is known about it."""

    id: int
    organisation: str
    source_name: str
    source_platform: str
    source_location: str | None
    content_hash: str | None
    metadata: Mapping[str, Json]


@dataclass(slots=True, eq=False)
class Attempt:
    """What a handler gets. `input` is the output of the phase before, or what the job was submitted with.

    `number` counts the attempts at this phase that were charged. `answer` is what a provider answered to an earlier
    attempt that ended with Awaits. When `ended` is true the claim is lost, cancelled or
    out of time: a handler in a thread looks at it now and then, and stops; whatever it answers is not recorded.
    `called` says that the handler was called, `reserved` that money was set aside for it. The token is another one
    after the worker was taken to be lost.
    """

    job_id: int
    token: int
    pipeline: str
    phase: str
    run: int
    number: int
    limit_seconds: float
    started_at: datetime
    input: Json
    document: Document
    answer: Answer | None = None
    fraction: float | None = field(default=None, init=False)
    ended: bool = field(default=False, init=False)
    called: bool = field(default=False, init=False)
    reserved: bool = field(default=False, init=False)
    _claimed_at: float = field(default_factory=time.monotonic, init=False)

    @property
    def seconds(self) -> float:
        """How long it has been claimed; `started_at` is the database's clock, and ours may differ."""
        return time.monotonic() - self._claimed_at

    def progress(self, fraction: float) -> None:
        """Report how much of the phase is done, from 0 to 1. Cheap: sent along with the next heartbeat."""
        self.fraction = min(max(float(fraction), 0.0), 1.0)

    def payload(self) -> dict[str, Json]:
        """What an isolated handler gets: the same facts as plain JSON."""
        document = self.document
        return {
            "job_id": self.job_id,
            "pipeline": self.pipeline,
            "phase": self.phase,
            "number": self.number,
            "input": self.input,
            "document": {
                "id": document.id,
                "organisation": document.organisation,
                "source_name": document.source_name,
                "source_platform": document.source_platform,
                "source_location": document.source_location,
                "content_hash": document.content_hash,
                "metadata": dict(document.metadata),
            },
        }
