"""The queue's verbs, each one call of the SQL function with the same name. All rules live there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, assert_never

from holdfast.db.connection import Connection, Database
from holdfast.engine.answer import Answer
from holdfast.engine.attempt import Attempt, Document, Json
from holdfast.engine.classify import Failure
from holdfast.engine.pipeline import Awaits, Done, Ending, GiveBack, Pipeline
from holdfast.engine.strict_json import dump
from holdfast.errors import InvalidInput

Handle = tuple[int, int]
"""A job and the token under which it was claimed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A document to take in; with `document_id`, another run of one that exists.

    `version` says when it was read, by a number of begin_reading(): at one location what was read last is the newest.
    """

    organisation: str
    source_name: str = "unnamed"
    source_platform: str = "upload"
    source_location: str | None = None
    content_hash: str | None = None
    metadata: Mapping[str, Json] | None = None
    idempotency_key: str | None = None
    parent_id: int | None = None
    version: int | None = None
    document_id: int | None = None
    priority: int = 0
    input: Json = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of a submission: created, existing, duplicate or permanent_failure."""

    document_id: int
    job_id: int
    result: str


@dataclass(frozen=True, slots=True)
class Lane:
    """How many jobs of a phase a worker can take now."""

    pipeline: str
    phase: str
    limit: int


@dataclass(frozen=True, slots=True)
class ServedLane(Lane):
    """A lane as one worker serves it: the provider it deals with and the budget it pays from, whatever others have."""

    provider: str | None
    budget: str | None


@dataclass(frozen=True, slots=True)
class Reservation:
    """The budget's answer: granted, or when to ask again."""

    granted: bool
    budget: str
    left_usd: Decimal
    resets_at: datetime


@dataclass(frozen=True, slots=True)
class Pulse:
    """A heartbeat's answer: whether the worker may go on, which claims it no longer has, and which have a new token."""

    alive: bool
    stale: frozenset[Handle]
    renewed: Mapping[Handle, int]


async def submit(connection: "Connection | Database", pipeline: str, items: Iterable[Submission]) -> list[Submitted]:
    """Take documents in, all or none; inside the caller's transaction if it passes its own connection."""
    body = _json([_item(item) for item in items])
    rows = await connection.fetch(
        "select document_id, job_id, result from holdfast.submit($1, $2::text::jsonb) order by ordinal",
        pipeline,
        body,
    )
    return [Submitted(*row) for row in rows]


class Queue:
    """What a worker says to the queue. Each call is atomic; what ends or renews an attempt is fenced by its token."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def register(self, pipelines: Iterable[Pipeline]) -> None:
        """Make the declarations known. Idempotent; an older version changes nothing."""
        async with self._database.transaction() as connection:
            for pipeline in pipelines:
                for policy in pipeline.policies:
                    await connection.execute(
                        "select holdfast.register_policy($1::text::jsonb)", _json(policy.declaration())
                    )
                await connection.execute(
                    "select holdfast.register_pipeline($1::text::jsonb)", _json(pipeline.declaration())
                )

    async def may_register(self) -> bool:
        """Whether this login may make declarations known; one that only serves or submits may not."""
        return bool(
            await self._database.fetchval(
                "select has_function_privilege('holdfast.register_pipeline(jsonb)'::regprocedure, 'execute')"
            )
        )

    async def register_worker(self, worker: str, *, host: str, pid: int, lanes: Sequence[Lane]) -> None:
        """Announce a worker, which may claim from now on. Where a lane is no ServedLane, the pipeline's word counts."""
        body = _json([asdict(lane) for lane in lanes])
        await self._database.execute(
            "select holdfast.register_worker($1, $2, $3, $4::text::jsonb)", worker, host, pid, body
        )

    async def stop_worker(self, worker: str) -> None:
        """Say that a worker has ended; whatever it still holds goes back."""
        await self._database.execute("select holdfast.stop_worker($1)", worker)

    async def claim(self, worker: str, lanes: Iterable[Lane]) -> list[Attempt]:
        """Take jobs for these lanes."""
        body = _json([{"pipeline": lane.pipeline, "phase": lane.phase, "limit": lane.limit} for lane in lanes])
        rows = await self._database.fetch("select * from holdfast.claim($1, $2::text::jsonb)", worker, body)
        return [_attempt(row) for row in rows]

    async def heartbeat(
        self,
        worker: str,
        attempts: Iterable[Attempt],
        *,
        names_all: bool = True,
        lease_seconds: float = 10.0,
        number: int | None = None,
    ) -> Pulse:
        """Renew the worker and record progress. `names_all` says that it has no other claims, and waits for none.

        `number` counts its heartbeats: one that arrives after a later one changes nothing.
        """
        body = _json(
            [{"job_id": a.job_id, "token": a.token, "progress": a.fraction, "ended": a.ended} for a in attempts]
        )
        row = await self._database.fetchrow(
            "select * from holdfast.heartbeat($1, $2::text::jsonb, $3, $4, $5)",
            worker,
            body,
            names_all,
            lease_seconds,
            number,
        )
        assert row is not None
        return Pulse(
            row["alive"],
            frozenset((item["job_id"], item["token"]) for item in row["stale"]),
            {(item["job_id"], item["token"]): item["new_token"] for item in row["renewed"]},
        )

    async def settle(
        self, endings: Sequence[tuple[Attempt, Done]], connection: "Connection | None" = None
    ) -> dict[Handle, str]:
        """Record successes; each is settled, already (settled before) or stale (its claim was lost)."""
        body = _json([_done_item(attempt, done) for attempt, done in endings])
        return await self._end("select * from holdfast.settle($1::text::jsonb)", body, connection)

    async def settle_before_save(
        self, attempt: Attempt, done: Done, connection: Connection
    ) -> tuple[dict[Handle, str], str | None]:
        """Record a success in a transaction in which its save follows; says also which transaction that is."""
        rows = await connection.fetch(
            "select *, pg_current_xact_id()::text as transaction from holdfast.settle($1::text::jsonb)",
            _json([_done_item(attempt, done)]),
        )
        return {(row["job_id"], row["token"]): row["result"] for row in rows}, rows[0]["transaction"] if rows else None

    async def settle_saved(
        self, attempt: Attempt, done: Done, connection: "Connection | Database | None" = None
    ) -> str | None:
        """Settle the money of one that was settled, and has saved, in this transaction; says which one it is."""
        transaction: str | None
        if attempt.reserved:
            row = await (connection or self._database).fetchrow(
                "select holdfast.settle_saved($1, $2, $3), pg_current_xact_id_if_assigned()::text as transaction",
                attempt.job_id,
                attempt.token,
                done.cost_usd,
            )
            transaction = row["transaction"] if row else None
        else:
            transaction = await (connection or self._database).fetchval("select pg_current_xact_id_if_assigned()::text")
        return transaction

    async def fail(self, endings: Sequence[tuple[Attempt, Failure]]) -> dict[Handle, str]:
        """Record failures; the phase's policy decides what happens next. Each is failed, already or stale."""
        body = _json([_failure_item(attempt, failure) for attempt, failure in endings])
        return await self._end("select * from holdfast.fail($1::text::jsonb)", body, None)

    async def give_back(self, endings: Sequence[tuple[Attempt, GiveBack]]) -> dict[Handle, str]:
        """Give jobs back uncharged, each with the reason. A claim that is gone is nothing to give back."""
        body = _json([_given_back_item(attempt, ending) for attempt, ending in endings])
        await self._database.execute("select holdfast.give_back($1::text::jsonb)", body)
        return {(attempt.job_id, attempt.token): "released" for attempt, _ in endings}

    async def await_answers(self, endings: Sequence[tuple[Attempt, Awaits]]) -> dict[Handle, str]:
        """Have jobs wait for answers of providers. Each awaits, is answered (it came first), already or stale."""
        body = _json([_awaits_item(attempt, awaits) for attempt, awaits in endings])
        return await self._end("select * from holdfast.await_answers($1::text::jsonb)", body, None)

    async def reserve_budget(self, attempt: Attempt, amount_usd: Decimal) -> Reservation:
        """Set money aside for this attempt, or learn when there will be some."""
        row = await self._database.fetchrow(
            "select granted, budget, left_usd, resets_at from holdfast.reserve_budget($1, $2, $3)",
            attempt.job_id,
            attempt.token,
            amount_usd,
        )
        assert row is not None
        return Reservation(*row)

    async def sweep(self, lease_seconds: float, worker: str | None = None) -> dict[str, Any]:
        """Take back what dead workers held and end what passed its limit, some hundred jobs a call.

        Safe for any number of callers. A worker that sweeps must have been in touch for as long as others were silent.
        """
        row = await self._database.fetchrow("select * from holdfast.sweep($1, $2)", lease_seconds, worker)
        assert row is not None
        return dict(row)

    async def advance_trials(self) -> int:
        """Go on with what is tried on a few first; says how many of the rest it retried. Safe for many callers."""
        return int(await self._database.fetchval("select holdfast.advance_trials()"))

    async def wake_parents(self) -> int:
        """Let go on what waits for members that have all ended, before its wait is over; says how many."""
        return int(await self._database.fetchval("select holdfast.wake_parents()"))

    async def _end(self, sql: str, body: str, connection: "Connection | None") -> dict[Handle, str]:
        rows = await (connection or self._database).fetch(sql, body)
        return {(row["job_id"], row["token"]): row["result"] for row in rows}


def ending_call(attempt: Attempt, ending: Ending) -> tuple[str, list[dict[str, object]]]:
    """The verb that records an ending, and its items; of one that saves only what it cost, for a save is code."""
    verb, item = _ending_call(attempt, ending)
    # For whoever reads it: the database knows.
    return verb, [item | {"phase": attempt.phase}]


def _ending_call(attempt: Attempt, ending: Ending) -> tuple[str, dict[str, object]]:
    match ending:
        case Done() if ending.save is not None:
            reason = "its worker ended before what it had done could be stored"
            return "give_back", _given_back_item(attempt, GiveBack(reason, cost_usd=ending.cost_usd))
        case Done():
            return "settle", _done_item(attempt, ending)
        case Awaits():
            return "await_answers", _awaits_item(attempt, ending)
        case Failure():
            return "fail", _failure_item(attempt, ending)
        case GiveBack():
            return "give_back", _given_back_item(attempt, ending)
    assert_never(ending)


def _json(value: object) -> str:
    return dump(value).decode()


def _item(submission: Submission) -> dict[str, object]:
    # Not asdict: that copies every value, and gives up on deep ones before anything can say why.
    fields = {name: getattr(submission, name) for name in Submission.__slots__}
    return {name: value for name, value in fields.items() if value is not None}


def _usd(amount: Decimal) -> float:
    if not amount.is_finite():
        raise InvalidInput(f"a cost of {amount} USD makes no sense: name an amount of 0 or more")
    return float(amount)


def _done_item(attempt: Attempt, done: Done) -> dict[str, object]:
    item: dict[str, object] = {"job_id": attempt.job_id, "token": attempt.token}
    if done.output is not None:
        item["output"] = done.output
    if done.cost_usd is None:
        item["cost_is_known"] = False
    elif done.cost_usd:
        item["cost_usd"] = _usd(done.cost_usd)
    if done.metadata:
        item["metadata"] = dict(done.metadata)
    if done.ends_as is not None:
        item["ends_as"] = done.ends_as
    if done.save is not None and attempt.reserved:
        item["saves"] = True
    return item


def _given_back_item(attempt: Attempt, ending: GiveBack) -> dict[str, object]:
    return {
        "job_id": attempt.job_id,
        "token": attempt.token,
        **asdict(ending),
        "cost_usd": None if ending.cost_usd is None else _usd(ending.cost_usd),
    }


def _awaits_item(attempt: Attempt, awaits: Awaits) -> dict[str, object]:
    return {
        "job_id": attempt.job_id,
        "token": attempt.token,
        "provider": awaits.provider,
        "reference": awaits.reference,
        "within_seconds": awaits.within_seconds,
        "cost_usd": _usd(awaits.cost_usd),
    }


def _failure_item(attempt: Attempt, failure: Failure) -> dict[str, object]:
    details = dict(failure.details)
    if failure.traceback:
        details["traceback"] = failure.traceback
    return {
        "job_id": attempt.job_id,
        "token": attempt.token,
        "category": failure.category.value,
        "error": failure.error,
        "error_type": failure.error_type,
        "error_code": failure.error_code,
        "details": details,
        "retry_after_seconds": failure.retry_after_seconds,
        "cost_usd": _usd(failure.cost_usd) if failure.cost_is_known else None,
        **({"final": True} if failure.is_final else {}),
    }


def _attempt(row: Any) -> Attempt:
    document = Document(
        row["document_id"],
        row["organisation"],
        row["source_name"],
        row["source_platform"],
        row["source_location"],
        row["content_hash"],
        row["metadata"],
    )
    return Attempt(
        row["job_id"],
        row["token"],
        row["pipeline"],
        row["phase"],
        row["run"],
        row["attempt"],
        row["limit_seconds"],
        row["started_at"],
        row["input"],
        document,
        Answer(**row["answer"]) if row["answer"] else None,
    )
