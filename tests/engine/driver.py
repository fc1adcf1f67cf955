"""Drives the database and the model side by side: each verb is called on both, and the answers must agree."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar, Self

import psycopg
import pytest
from hypothesis.stateful import RuleBasedStateMachine

from holdfast.db.connection import connect
from holdfast.engine.doctor import Finding, examine
from holdfast.settings import Settings
from tests.engine.model import Model
from tests.engine.model_records import Document, Handle, Scope
from tests.engine.model_rules import PHASE, PIPELINE
from tests.engine.observed import JOBS, Observer

LEASE = timedelta(seconds=10)
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
DAILY_LIMIT = Decimal("0.010")
UNATTENDED = ("I19", "I20")  # promises of workers that sweep and claim by themselves; here nobody does


class Driver(RuleBasedStateMachine):
    """Runs against the database of `connection`, whose clock stands still until a rule moves it."""

    dsn: ClassVar[str]
    connection: ClassVar["psycopg.Connection[Any]"]

    runner: ClassVar[asyncio.Runner]

    @classmethod
    def on(cls, dsn: str) -> type[Self]:
        """The machine for one database."""
        return type(cls.__name__, (cls,), {"dsn": dsn})

    @classmethod
    @contextmanager
    def connected(cls) -> Iterator["psycopg.Connection[Any]"]:
        """One connection for every example; each statement is a transaction of its own."""
        hurried = "-c synchronous_commit=off"  # no example outlives its server
        with (
            psycopg.connect(cls.dsn, autocommit=True, options=hurried) as connection,
            asyncio.Runner() as runner,
        ):
            cls.connection, cls.runner = connection, runner
            yield connection

    def __init__(self) -> None:
        super().__init__()
        self.model = Model(NOON, DAILY_LIMIT)
        self.observer = Observer(self.connection)
        self.handles: list[Handle] = []  # every one ever given out
        self.silent: set[str] = set()

    def sql(self, statement: str, *values: object) -> None:
        """Run it in a transaction of its own."""
        self.connection.execute(statement.encode(), values or None)

    def rows(self, statement: str, *values: object) -> list[dict[str, Any]]:
        cursor = self.connection.execute(statement.encode(), values or None)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def row(self, statement: str, *values: object) -> dict[str, Any]:
        (only,) = self.rows(statement, *values)
        return only

    def refused(self, statement: str, *values: object) -> None:
        """Run what must be refused as a conflict."""
        with pytest.raises(psycopg.Error) as refusal:
            self.sql(statement, *values)
        assert refusal.value.sqlstate == "HF409", f"refused for another reason: {refusal.value}"

    def ask_the_doctor(self) -> None:
        """Whatever was done, the product's own examination finds nothing wrong."""

        async def findings() -> list[Finding]:
            async with connect(Settings(database_url=self.dsn)) as database:
                return await examine(database)

        found = [f for f in self.runner.run(findings()) if f.invariant not in UNATTENDED]
        assert not found, f"the doctor found {found}"

    def tell_time(self) -> None:
        self.sql("update public.test_clock set at = %s", self.model.now)

    def handle(self, n: int) -> Handle:
        """Mostly one that still has its claim, but now and then any that was ever given out."""
        live = [handle for handle in self.handles if self.model.live(handle)]
        return pick(live if live and n % 4 else self.handles, n)

    def worker(self, n: int) -> str:
        """Mostly one that is alive."""
        alive = [name for name, worker in self.model.workers.items() if not worker.gone]
        return pick(alive if alive and n % 4 else list(self.model.workers), n)

    def job(self, n: int, *states: str) -> int:
        """Mostly one in these states."""
        likely = [job.id for job in self.model.jobs.values() if job.state in states]
        return pick(likely if likely and n % 4 else list(self.model.jobs), n)

    def submit_item(
        self, organisation: str, *, content: str | None = None, key: str | None = None, priority: int = 0
    ) -> None:
        expected = self.model.answer_to(organisation, content=content, key=key)
        original = self.model.original(organisation, content)
        item = {"organisation": organisation, "content_hash": content, "idempotency_key": key, "priority": priority}
        answer = self.row("select * from holdfast.submit(%s, %s)", PIPELINE, json.dumps([item]))
        document, job = answer["document_id"], answer["job_id"]
        assert answer["result"] == expected
        if expected == "existing" and key:
            assert (document, job) == (self.model.keys[organisation, key], self.model.jobs_of(document)[0].id)
        if expected not in ("created", "duplicate"):
            return
        if document not in self.model.documents:
            of = original.id if original and expected == "duplicate" else None
            if original and expected == "created":
                original.content = None
            self.model.documents[document] = Document(document, organisation, content, duplicate_of=of)
        if key:
            self.model.keys[organisation, key] = document
        if expected == "created":
            self.model.add_job(job, document, priority=priority)
        else:
            self.model.add_duplicate(job, document)

    def follow_parking(self, parked: dict[int, list[Scope]], *, is_full: bool) -> None:
        """Of several holds on one organisation the claim may name any; one that found enough parks no others."""
        found = {row["id"]: row["hold"] for row in self.observer.rows(JOBS)} if parked else {}
        for job, allowed in parked.items():
            if found[job] is None:
                assert is_full, f"job {job} was passed over, not parked"
                continue
            scope = Scope(*found[job])
            assert scope in allowed, f"job {job} is parked under {scope}, which does not cover it"
            self.model.jobs[job].state, self.model.jobs[job].hold = "held", scope

    def settle_all(self, handles: list[Handle]) -> None:
        """Each with what the provider charged for it."""
        costs = {handle: self.model.charged(handle) for handle in handles}
        items = [
            {"job_id": job, "token": token, "cost_usd": float(cost), "metadata": {f"by-{job}-{token}": 1}}
            for (job, token), cost in costs.items()
        ]
        rows = self.rows("select * from holdfast.settle(%s)", json.dumps(items))
        answers = {(row["job_id"], row["token"]): row["result"] for row in rows}
        expected = {
            (job, token): self.model.settle((job, token), cost, {f"by-{job}-{token}": 1})
            for (job, token), cost in costs.items()
        }
        assert answers == expected

    def fail_one(
        self,
        handle: Handle,
        category: str,
        *,
        retry_after: int | None = None,
        needs: Decimal | None = None,
    ) -> None:
        cost = self.model.charged(handle)
        item = {
            "job_id": handle[0],
            "token": handle[1],
            "category": category,
            "error": f"{category} on purpose",
            "retry_after_seconds": retry_after,
            "cost_usd": float(cost),
            "details": {} if needs is None else {"needs_usd": float(needs)},
        }
        answer = self.row("select * from holdfast.fail(%s)", json.dumps([item]))
        expected = self.model.fail(handle, category, retry_after=retry_after, cost=cost, needs=needs)
        assert (answer["result"], answer["state"]) == (expected, self.model.jobs[handle[0]].state)

    def give_back_all(self, handles: list[Handle], *, names_cost: bool) -> None:
        costs = {handle: self.model.charged(handle) if names_cost else None for handle in handles}
        items = [
            {"job_id": job, "token": token} | ({} if cost is None else {"cost_usd": float(cost)})
            for (job, token), cost in costs.items()
        ]
        given = [r["give_back"] for r in self.rows("select * from holdfast.give_back(%s)", json.dumps(items))]
        expected = [handle[0] for handle, cost in sorted(costs.items()) if self.model.give_back(handle, cost=cost)]
        assert sorted(given) == expected

    def ask_provider(self, handle: Handle, within: timedelta) -> None:
        """End an attempt that handed its work over; who answers names the handle."""
        job, token = handle
        cost = self.model.charged(handle)
        item = {"job_id": job, "token": token, "provider": "oracle", "reference": f"{job}-{token}"}
        item |= {"within_seconds": within.total_seconds(), "cost_usd": float(cost)}
        answer = self.row("select * from holdfast.await_answers(%s)", json.dumps([item]))
        assert answer["result"] == self.model.await_answer(handle, within, cost=cost)

    def beat(self, worker: str, handles: dict[Handle, float | None]) -> None:
        """A heartbeat that names these; what goes on under another token is known from now on."""
        items = [{"job_id": job, "token": token, "progress": progress} for (job, token), progress in handles.items()]
        if not self.rows("select from holdfast.worker where id = %s", worker):
            self.model.forget(worker)
        answer = self.row("select * from holdfast.heartbeat(%s, %s)", worker, json.dumps(items))
        alive, stale, renewed = self.model.heartbeat(worker, handles, LEASE)
        assert answer["alive"] == alive
        assert {(item["job_id"], item["token"]) for item in answer["stale"]} == stale
        told = {(item["job_id"], item["token"]): (item["job_id"], item["new_token"]) for item in answer["renewed"]}
        assert told == renewed
        self.handles += [handle for handle in renewed.values() if handle not in self.handles]

    def in_hand(self, worker: str) -> list[Handle]:
        """What it works on as far as it knows: it is not told that it was declared lost."""
        return [handle for handle in self.handles if self._worker_of(handle) == worker]

    def _worker_of(self, handle: Handle) -> str | None:
        if job := self.model.live(handle):
            return job.worker
        attempt = self.model.attempts[handle]
        return attempt.worker if attempt.outcome == "lost" and not attempt.resumed_as else None

    def reserve_amount(self, handle: Handle, amount: Decimal) -> bool | None:
        """Whether it was granted; None when the handle has no right to ask."""
        job = self.model.live(handle)
        if job is None:
            self.refused("select * from holdfast.reserve_budget(%s, %s, %s)", *handle, amount)
            return None
        if PHASE[job.phase].budget is None:
            return None
        answer = self.row("select * from holdfast.reserve_budget(%s, %s, %s)", *handle, amount)
        granted = self.model.money.reserve(handle, amount, now=self.model.now)
        assert answer["granted"] == granted
        return granted


def pick(choices: list[Any], n: int) -> Any:
    """One of them, the newest likelier than the oldest."""
    return choices[-1 - n % len(choices)]
