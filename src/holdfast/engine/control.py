"""The operators' verbs. Each act is audited under the actor's name; the rules live in the SQL functions called here."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice

from holdfast.db.connection import Database
from holdfast.engine.selection import Selection
from holdfast.engine.strict_json import dump
from holdfast.engine.trial import Trial
from holdfast.errors import InvalidInput, NotFound

# A batch is one transaction: short, so that workers never wait long for its row locks.
BATCH_JOBS = 500
PAGE_JOBS = 10_000
IDS_SHOWN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What can be done to many jobs: the states a filter means by itself, and all those the act can change."""

    name: str
    usual_states: tuple[str, ...]
    states: tuple[str, ...]


RETRY = Act(
    name="retry",
    usual_states=("failed", "deadletter"),
    states=("failed", "deadletter", "cancelled", "held"),
)
RESET = Act(name="reset", usual_states=RETRY.usual_states, states=RETRY.states)
CANCEL = Act(
    name="cancel",
    usual_states=("queued", "held", "failed", "working"),
    states=("queued", "held", "failed", "working"),
)


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of the jobs: how many per result, and the first ids of each."""

    counts: dict[str, int]
    ids: dict[str, list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Jobs an act would meet. `usual_cost_usd` is what their phase lately cost per success; None: not known."""

    pipeline: str
    phase: str
    state: str
    category: str | None
    jobs: int
    usual_cost_usd: Decimal | None
    would_change: bool


class Control:
    """What an operator may do, under a name that the audit log keeps."""

    def __init__(self, database: Database, actor: str, *, on_progress: Callable[[int], None] | None = None) -> None:
        """`on_progress` hears after each batch of an act how many jobs it has met so far."""
        self._database = database
        self._actor = actor
        self._on_progress = on_progress or (lambda _: None)

    async def preview(self, act: Act, selection: Selection) -> list[Group]:
        """What the act would meet now, largest group first. Changes nothing."""
        await self._require_known(selection.ids)
        groups = []
        for filter_ in _filters(act, selection):
            rows = await self._database.fetch("select * from holdfast.preview_jobs($1::text::jsonb)", _json(filter_))
            groups += [Group(**row, would_change=row["state"] in act.states) for row in rows]
        return sorted(groups, key=lambda group: -group.jobs)

    async def retry(self, selection: Selection, *, phase: str | None = None, reason: str | None = None) -> Tally:
        """Queue jobs again where they failed, or from an earlier phase on; finished phases before it are kept."""
        if phase is not None:
            await self._ids({"phase": phase}, limit=0)  # refuses a phase nobody declared
        sql = "select job_id, result from holdfast.retry($1, $2, $3, $4)"
        return await self._act(RETRY, selection, sql=sql, arguments=(phase, self._actor, reason))

    async def try_first(self, selection: Selection, *, first: int = 5, reason: str | None = None) -> Trial:
        """Retry the first few of the jobs that failed; the rest follows once they got past where they had failed.

        Workers see to that, in batches, under this actor's name. Raises NotFound when there is nothing to try.
        """
        await self._require_known(selection.ids)
        filter_ = {"ids": list(selection.ids)} if selection.ids else selection.conditions()
        sql = "select holdfast.try_first($1::text::jsonb, $2, $3, $4)"
        trial_id = await self._database.fetchval(sql, _json(filter_), first, self._actor, reason)
        (row,) = await self._database.fetch("select * from holdfast.overview_trials(1, $1)", trial_id)
        return Trial(**row)

    async def reset(self, selection: Selection, *, reason: str | None = None) -> Tally:
        """Start jobs over from their first phase and clear their documents' failures."""
        sql = "select job_id, result from holdfast.reset($1, $2, $3)"
        return await self._act(RESET, selection, sql=sql, arguments=(self._actor, reason))

    async def cancel(self, selection: Selection, *, reason: str | None = None) -> Tally:
        """End jobs, waiting or running."""
        sql = "select job_id, result from holdfast.cancel($1, $2, $3)"
        return await self._act(CANCEL, selection, sql=sql, arguments=(self._actor, reason))

    async def stuck(self, *, minutes: int, pipeline: str | None = None, phase: str | None = None) -> list[int]:
        """The jobs `requeue_stuck` would take back now."""
        named = {"stuck_for_minutes": minutes, "pipeline": pipeline, "phase": phase, "state": "working"}
        return await self._ids({name: value for name, value in named.items() if value is not None})

    async def requeue_stuck(self, *, minutes: int, pipeline: str | None = None, phase: str | None = None) -> list[int]:
        """Take jobs without progress for that long away from their workers, uncharged, in batches, and say which."""
        taken: dict[int, None] = {}
        while True:
            rows = await self._database.fetch(
                "select holdfast.requeue_stuck($1, $2, $3, $4) as id", minutes, pipeline, phase, self._actor
            )
            fresh = [row["id"] for row in rows if row["id"] not in taken]
            taken |= dict.fromkeys(fresh)
            # One that comes again was claimed again meanwhile, and would for ever where no minute is granted.
            if not fresh:
                return list(taken)

    async def hold(
        self,
        scope: dict[str, str],
        *,
        until: datetime | None = None,
        lasting: timedelta | None = None,
        reason: str = "held by an operator",
    ) -> int:
        """Keep a scope from being claimed until a moment, for a time by the database's clock, or until released."""
        if until is not None and lasting is not None:
            raise InvalidInput("a hold ends at a moment or after a time: name one of them")
        hold_id = await self._database.fetchval(
            "select holdfast.hold($1::text::jsonb, coalesce($2, holdfast.clock() + $3::interval), $4, $5)",
            _json(scope),
            until,
            lasting,
            reason,
            self._actor,
        )
        return int(hold_id)

    async def release(self, hold_id: int, *, reason: str | None = None) -> int:
        """End a hold; its jobs go back to the queue in batches. Says how many were parked behind it."""
        waiting = await self._database.fetchval("select holdfast.release($1, $2, $3)", hold_id, self._actor, reason)
        return int(waiting)

    async def set_budget(
        self, name: str, daily_limit_usd: Decimal, *, organisation: str | None = None, time_zone: str | None = None
    ) -> None:
        """Set a daily limit, for one organisation or for all that have none of their own."""
        await self._database.execute(
            "select holdfast.set_budget($1, $2, $3, $4, $5)",
            name,
            daily_limit_usd,
            organisation,
            time_zone,
            self._actor,
        )

    async def _act(self, act: Act, selection: Selection, *, sql: str, arguments: Sequence[object]) -> Tally:
        await self._require_known(selection.ids)
        counts: Counter[str] = Counter()
        ids: defaultdict[str, list[int]] = defaultdict(list)
        async for batch in self._batches(act, selection):
            for job_id, result in await self._database.fetch(sql, batch, *arguments):
                counts[result] += 1
                if len(ids[result]) < IDS_SHOWN:
                    ids[result].append(job_id)
            self._on_progress(counts.total())
        return Tally(dict(counts), dict(ids))

    async def _batches(self, act: Act, selection: Selection) -> AsyncIterator[list[int]]:
        if selection.ids:
            for batch in _cut(sorted(set(selection.ids))):
                yield batch
            return
        for filter_ in _filters(act, selection):
            page = await self._ids(filter_, limit=PAGE_JOBS)
            while page:
                for batch in _cut(page):
                    yield batch
                # Ids only grow, so what the act leaves as it was is not met twice.
                page = await self._ids({**filter_, "after": page[-1]}, limit=PAGE_JOBS)

    async def _require_known(self, ids: Iterable[int]) -> None:
        wanted = set(ids)
        if not wanted:
            return
        missing = sorted(wanted - set(await self._ids({"ids": sorted(wanted)})))
        if missing:
            named = ", ".join(str(job_id) for job_id in islice(missing, 10))
            raise NotFound(f"there is no job {named}: nothing was changed")

    async def _ids(self, filter_: dict[str, object], limit: int | None = None) -> list[int]:
        rows = await self._database.fetch(
            "select holdfast.matching_jobs($1::text::jsonb, $2) as id", _json(filter_), limit
        )
        return [row["id"] for row in rows]


def _filters(act: Act, selection: Selection) -> list[dict[str, object]]:
    """What has a complete newer version is not run again for nothing, unless it is named itself."""
    filters = selection.filters(act.usual_states)
    return filters if act is CANCEL or selection.ids else [{**one, "replaced": False} for one in filters]


def _cut(ids: Sequence[int]) -> Iterable[list[int]]:
    return (list(ids[start : start + BATCH_JOBS]) for start in range(0, len(ids), BATCH_JOBS))


def _json(value: object) -> str:
    return dump(value).decode()
