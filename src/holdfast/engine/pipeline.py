"""Pipelines as data: the phases a document goes through, the statuses they show, and what a phase may answer."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

from holdfast.db.connection import Connection
from holdfast.engine.attempt import Attempt, Json
from holdfast.engine.classify import Failure
from holdfast.engine.isolation import Limits, check_importable
from holdfast.engine.policy import PATIENT, Policy
from holdfast.errors import InvalidInput

Save: TypeAlias = Callable[["Connection"], Awaitable[None]]
Estimate: TypeAlias = Decimal | Callable[[Attempt], Decimal]

DUPLICATE = "duplicate"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


def minutes(count: float) -> float:
    """Minutes as seconds, for time limits."""
    return count * 60


@dataclass(frozen=True, slots=True)
class Done:
    """A phase succeeded.

    `output` becomes the next phase's input: a small value or the location of a stored one. `save` writes in the very
    transaction that settles the attempt, or not at all, and leaves its end to us. It has 30 s, and is then broken off:
    the attempt has failed. One that takes longer than 2 s may be broken off and called again, so that short ones need
    not wait. `cost_usd` is None when nobody knows it, and what was reserved counts as spent. `metadata` is merged into
    the document's. `ends_as` names a status with which the job is done at once, whatever phases would follow: the
    document turned out a duplicate.
    """

    output: Json = None
    save: Save | None = None
    cost_usd: Decimal | None = Decimal(0)
    metadata: Mapping[str, Json] | None = None
    ends_as: str | None = None


@dataclass(frozen=True, slots=True)
class GiveBack:
    """A phase cannot run here and now; the job goes back, uncharged, and is not tried again before `wait_seconds`.

    One that waits `for_members` goes on sooner when the last of its document's members has ended. What no waiting ends
    `needs_someone`: then the reason is among the problems of the whole. `cost_usd` is what was spent all the same; None
    when nobody knows, and what was reserved counts as spent.
    """

    reason: str
    wait_seconds: float = 0.0
    for_members: bool = False
    needs_someone: bool = False
    cost_usd: Decimal | None = Decimal(0)


@dataclass(frozen=True, slots=True)
class Awaits:
    """A phase handed its work to a provider who will call back; the job waits for the answer, and no worker with it.

    The provider names `reference` in its answer. Then, or when `within_seconds` are over, the same phase runs again:
    with `attempt.answer`, or as timed out. `cost_usd` is what asking costs.
    """

    provider: str
    reference: str
    within_seconds: float
    cost_usd: Decimal = Decimal(0)


Outcome: TypeAlias = Done | GiveBack | Awaits
Ending: TypeAlias = Outcome | Failure
Handler: TypeAlias = Callable[[Attempt], Outcome | Awaitable[Outcome]]
IsolatedHandler: TypeAlias = Callable[..., Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One phase. `done` is the status it ends in; `queued` and `working` default to the status before and its own name.

    The handler is `async def` (runs on the event loop), a plain function (runs in a thread) or, with `isolated`, an
    importable function of the JSON payload and a progress callback, run in a child process under those limits.
    `concurrency` is per worker process. `budget` names a daily budget, from which `estimate_usd` is reserved before
    each attempt; `daily_limit_usd` is what that budget begins with, 5 USD unless said, until an operator sets it.
    `paid` settles each attempt at once instead of in groups.
    """

    name: str
    handler: Handler | IsolatedHandler
    done: str
    queued: str | None = None
    working: str | None = None
    component: str | None = None
    policy: Policy = PATIENT
    limit_seconds: float = 120.0
    concurrency: int = 10
    isolated: Limits | None = None
    provider: str | None = None
    budget: str | None = None
    estimate_usd: Estimate = Decimal(0)
    daily_limit_usd: Decimal | None = None
    paid: bool = False

    @property
    def may_pay(self) -> bool:
        """Whether an attempt that was broken off may have paid someone."""
        return self.paid or self.provider is not None or self.budget is not None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidInput(f'phase "{self.name}": use lower-case letters, digits and _, at most 63')
        if not callable(self.handler):
            raise InvalidInput(f'phase "{self.name}" has a handler that cannot be called: {self.handler!r}')
        if self.limit_seconds <= 0 or self.concurrency <= 0:
            raise InvalidInput(f'phase "{self.name}": limit_seconds and concurrency must be above 0')
        if self.isolated is not None:
            check_importable(self.handler)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """An ordered plan. Raise `version` when the phases change: an older one never overwrites a newer one.

    `progress` maps statuses to per cent; those not named are spread evenly.
    """

    name: str
    phases: tuple[Phase, ...]
    starts: str = "submitted"
    version: int = 1
    progress: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "phases", tuple(self.phases))
        if not _NAME.fullmatch(self.name):
            raise InvalidInput(f'pipeline "{self.name}": use lower-case letters, digits and _, at most 63')
        if not self.phases:
            raise InvalidInput(f'pipeline "{self.name}" has no phases: give it at least one')
        if self.version < 1:
            raise InvalidInput(f'pipeline "{self.name}": versions count from 1')
        names = [phase.name for phase in self.phases]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput(f'pipeline "{self.name}" has two phases named "{name}": rename one')
        strangers = sorted(set(self.progress) - set(self._statuses()) - {DUPLICATE})
        if strangers:
            raise InvalidInput(f'pipeline "{self.name}" gives progress to unknown statuses: {", ".join(strangers)}')

    @property
    def policies(self) -> tuple[Policy, ...]:
        """Every policy its phases name, once."""
        return tuple({phase.policy.name: phase.policy for phase in self.phases}.values())

    def declaration(self) -> dict[str, object]:
        """What the database registers."""
        return {
            "name": self.name,
            "version": self.version,
            "starts": self.starts,
            "phases": [self._declared(index, phase) for index, phase in enumerate(self.phases)],
            "statuses": self._progress_by_status(),
        }

    def _declared(self, index: int, phase: Phase) -> dict[str, object]:
        before = self._before(index)
        return {
            "name": phase.name,
            "resumes_from": before,
            "queued": phase.queued or before,
            "working": phase.working or phase.name,
            "done": phase.done,
            "component": phase.component or phase.name,
            "policy": phase.policy.name,
            "limit_seconds": phase.limit_seconds,
            "provider": phase.provider,
            "budget": phase.budget,
            **({"paid": True} if phase.paid else {}),
            **({} if phase.daily_limit_usd is None else {"daily_limit_usd": float(phase.daily_limit_usd)}),
        }

    def _before(self, index: int) -> str:
        return self.phases[index - 1].done if index else self.starts

    def _statuses(self) -> list[str]:
        """Every status in the order a document passes through them."""
        statuses = [self.starts]
        for index, phase in enumerate(self.phases):
            statuses += [phase.queued or self._before(index), phase.working or phase.name, phase.done]
        return list(dict.fromkeys(statuses))

    def _progress_by_status(self) -> dict[str, int]:
        statuses = self._statuses()
        spread = {status: round(100 * (n + 1) / len(statuses)) for n, status in enumerate(statuses)}
        return {**spread, **self.progress, DUPLICATE: -1}
