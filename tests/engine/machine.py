"""The state machine's rules: every verb in any order, by workers alive, dead and returned, against the model."""

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from tests.engine.driver import DAILY_LIMIT, Driver, pick
from tests.engine.model_records import Scope, Worker
from tests.engine.model_rules import CATEGORIES, PHASE, PHASES, PIPELINE
from tests.engine.observed import HOLDS

LEASE = timedelta(seconds=10)

EMPTY_TABLES = """
truncate holdfast.document, holdfast.pipeline_job, holdfast.pipeline_phase, holdfast.audit_log, holdfast.hold,
         holdfast.worker, holdfast.fair_share, holdfast.budget_day, holdfast.budget_entry, holdfast.error_log cascade
"""

which = st.integers(0, 20)
organisations = st.sampled_from(["acme", "birch"])
phases = st.sampled_from([phase.name for phase in PHASES])
amounts = st.sampled_from([Decimal("0"), Decimal("0.001"), Decimal("0.003"), Decimal("0.006")])
submissions = st.sampled_from(
    [{}, {"priority": 1}, {"content": "one"}, {"content": "two"}, {"key": "monday"}, {"key": "tuesday"}]
)
spans = st.sampled_from([1, 9, 11, 61, 301, 901, 12 * 3600, 24 * 3600])
scopes = st.sampled_from(
    [
        Scope(provider="oracle"),
        Scope(organisation="acme"),
        Scope(phase="store"),
        Scope(provider="oracle", organisation="birch"),
        Scope(organisation="birch", pipeline=PIPELINE),
    ]
)


class QueueMachine(Driver):
    """Every rule ends with a look at the whole database."""

    # -- setting up ---------------------------------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        self.sql(EMPTY_TABLES)
        self.tell_time()
        self.sql("select holdfast.set_budget('enrichment', %s)", DAILY_LIMIT)
        for organisation in ("acme", "birch"):
            self.begin_enrichment(organisation, jobs=2, amount=Decimal("0.003"))
            self.submit_item(organisation)
        self.claim(1, "extract", 1)

    @invariant()
    def the_database_agrees_with_the_model(self) -> None:
        self.observer.check(self.model)

    def teardown(self) -> None:
        self.ask_the_doctor()

    # -- rules: work --------------------------------------------------------------------------------------------------

    @rule(organisation=organisations, item=submissions)
    def submit(self, organisation: str, item: dict[str, Any]) -> None:
        self.submit_item(organisation, **item)

    @precondition(lambda self: self.model.documents)
    @rule(n=which)
    def submit_a_document_again(self, n: int) -> None:
        originals = [d for d in self.model.documents.values() if d.duplicate_of is None]
        document = pick(originals, n)
        expected = self.model.answer_to_document(document.id)
        item = {"organisation": document.organisation, "document_id": document.id}
        answer = self.row("select * from holdfast.submit(%s, %s)", PIPELINE, json.dumps([item]))
        assert (answer["document_id"], answer["result"]) == (document.id, expected)
        if expected == "created":
            self.model.add_job(answer["job_id"], document.id)

    @rule(n=which, phase=phases, limit=st.integers(1, 4))
    def claim(self, n: int, phase: str, limit: int) -> None:
        worker = self.worker(n)
        lanes = json.dumps([{"pipeline": PIPELINE, "phase": phase, "limit": limit}])
        if self.model.workers[worker].gone:
            self.refused("select * from holdfast.claim(%s, %s)", worker, lanes)
            return
        taken = [(r["job_id"], r["token"]) for r in self.rows("select * from holdfast.claim(%s, %s)", worker, lanes)]
        self.model.promote()
        parked = self.model.take(worker, PHASE[phase], limit, taken)
        self.follow_parking(parked)
        self.handles += taken

    @rule(organisation=organisations, jobs=st.integers(1, 3), amount=st.none() | amounts)
    def begin_enrichment(self, organisation: str, jobs: int, amount: Decimal | None) -> None:
        """The paid phase has the most to lose: bring some jobs there."""
        self.a_worker_starts()
        for _ in range(jobs):
            self.submit_item(organisation)
        self.claim(0, "extract", 4)
        self.settle_all([handle for handle in self.handles[-4:] if self.model.live(handle)], Decimal(0))
        self.claim(0, "enrich", 4)
        if amount is not None and self.handles:
            self.reserve_amount(self.handle(1), amount)

    @precondition(lambda self: self.handles)
    @rule(n=which, cost=amounts)
    def settle(self, n: int, cost: Decimal) -> None:
        self.settle_all([self.handle(n)], cost)

    @precondition(lambda self: self.handles)
    @rule(chosen=st.lists(which, min_size=2, max_size=5))
    def settle_a_group(self, chosen: list[int]) -> None:
        self.settle_all([self.handle(n) for n in chosen], Decimal(0))

    @precondition(lambda self: self.handles)
    @rule(
        n=which,
        category=st.sampled_from(CATEGORIES),
        retry_after=st.sampled_from([None, 30, 200_000]),
        cost=amounts,
    )
    def fail(self, n: int, category: str, retry_after: int | None, cost: Decimal) -> None:
        self.fail_one(self.handle(n), category, retry_after=retry_after, cost=cost)

    @precondition(lambda self: self.handles)
    @rule(n=which, category=st.sampled_from(["unknown", "json_parse", "timeout"]), times=st.integers(2, 5))
    def fail_again_and_again(self, n: int, category: str, times: int) -> None:
        """A failure, its wait, the next attempt's failure: what exhausts patience."""
        job, token = self.handle(n)
        for more in range(times):
            self.fail_one((job, token + more), category)
            self.time_passes(24 * 3600, silently=False)
            self.claim(1, self.model.jobs[job].phase, 4)
            if self.model.jobs[job].token == token + more:
                return

    @precondition(lambda self: self.handles)
    @rule(chosen=st.lists(which, min_size=1, max_size=3))
    def give_back(self, chosen: list[int]) -> None:
        handles = [self.handle(n) for n in chosen]
        items = [{"job_id": job, "token": token} for job, token in handles]
        given = [r["give_back"] for r in self.rows("select * from holdfast.give_back(%s)", json.dumps(items))]
        assert sorted(given) == sorted(job for job, token in sorted(handles) if self.model.give_back((job, token)))

    @precondition(lambda self: self.handles)
    @rule(n=which, seconds=st.sampled_from([60, 3600]), cost=amounts)
    def await_an_answer(self, n: int, seconds: int, cost: Decimal) -> None:
        job, token = self.handle(n)
        item = {"job_id": job, "token": token, "provider": "oracle", "reference": f"{job}-{token}"}
        item |= {"within_seconds": seconds, "cost_usd": float(cost)}
        answer = self.row("select * from holdfast.await_answers(%s)", json.dumps([item]))
        assert answer["result"] == self.model.await_answer((job, token), timedelta(seconds=seconds), cost=cost)

    @precondition(lambda self: self.handles)
    @rule(n=which, outcome=st.sampled_from(["completed", "failed"]))
    def a_provider_answers(self, n: int, outcome: str) -> None:
        """Mostly to what was asked, but now and then to what nobody has asked yet."""
        answers = self.model.answers
        job, token = pick(list(answers.asked) if answers.asked and n % 4 else self.handles, n)
        if not answers.remembered((job, token), self.model.now):
            return
        told = f"{job}-{token}"
        answer = self.row("select holdfast.answer('oracle', %s, %s, %s, '{}') as result", told, told, outcome)
        assert answer["result"] == answers.tell((job, token), self.model.jobs[job], self.model.now)

    @precondition(lambda self: self.handles)
    @rule(n=which, chosen=st.lists(which, max_size=3), progress=st.sampled_from([None, 0.25, 0.5]))
    def heartbeat(self, n: int, chosen: list[int], progress: float | None) -> None:
        worker = self.worker(n)
        handles = dict.fromkeys((self.handle(m) for m in chosen), progress)
        items = [{"job_id": job, "token": token, "progress": progress} for job, token in handles]
        answer = self.row("select * from holdfast.heartbeat(%s, %s)", worker, json.dumps(items))
        alive, stale = self.model.heartbeat(worker, handles)
        assert answer["alive"] == alive
        assert {(item["job_id"], item["token"]) for item in answer["stale"]} == stale

    # -- rules: money -------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.handles)
    @rule(n=which, amount=amounts)
    def reserve(self, n: int, amount: Decimal) -> None:
        self.reserve_amount(self.handle(n), amount)

    @precondition(lambda self: self.handles)
    @rule(n=which, amount=amounts)
    def reserve_or_wait_for_money(self, n: int, amount: Decimal) -> None:
        handle = self.handle(n)
        if self.reserve_amount(handle, amount) is False:
            self.fail_one(handle, "budget_exceeded", needs=amount)

    @precondition(lambda self: self.handles)
    @rule(n=which, spent=amounts)
    def settle_budget(self, n: int, spent: Decimal) -> None:
        handle = self.handle(n)
        if self.model.live(handle) is None:
            self.refused("select holdfast.settle_budget(%s, %s, %s)", *handle, spent)
            return
        self.sql("select holdfast.settle_budget(%s, %s, %s)", *handle, spent)
        self.model.money.settle(handle, spent, now=self.model.now)

    @rule(limit=st.sampled_from([Decimal("0.004"), DAILY_LIMIT, Decimal("0.020")]))
    def set_budget(self, limit: Decimal) -> None:
        self.sql("select holdfast.set_budget('enrichment', %s)", limit)
        self.model.money.set_limit(limit, now=self.model.now)

    # -- rules: time and death ----------------------------------------------------------------------------------------

    @rule(seconds=spans, silently=st.booleans())
    def time_passes(self, seconds: int, *, silently: bool) -> None:
        """Workers that live are heard when it is over, unless this is longer than anybody listens."""
        self.model.now += timedelta(seconds=seconds)
        self.tell_time()
        if silently:
            return
        for worker in self.model.workers.keys() - self.silent:
            self.sql("select holdfast.heartbeat(%s)", worker)
            self.model.renew(worker)

    @precondition(lambda self: any(job.worker for job in self.model.jobs.values()))
    @rule(n=which, times=st.integers(1, 3))
    def a_worker_crashes(self, n: int, times: int) -> None:
        """It is never heard again; the next sweep takes back what it held, and another claims that, perhaps to die."""
        job = pick([job for job in self.model.jobs.values() if job.worker], n)
        for _ in range(times):
            if job.worker:
                self.silent.add(job.worker)
            self.time_passes(11, silently=False)
            self.sweep()
            self.a_worker_starts()
            self.claim(0, job.phase, 4)

    @rule(n=which)
    def a_worker_stops(self, n: int) -> None:
        worker = self.worker(n)
        self.sql("select holdfast.stop_worker(%s)", worker)
        self.model.workers[worker].gone = True
        self.a_worker_starts()

    def a_worker_starts(self) -> None:
        worker = f"worker-{len(self.model.workers)}"
        self.sql("select holdfast.register_worker(%s, 'host', 1)", worker)
        self.model.workers[worker] = Worker(self.model.now)

    @rule()
    def sweep(self) -> None:
        answer = self.row("select * from holdfast.sweep(%s)", LEASE.total_seconds())
        lost, late = self.model.sweep(LEASE)
        assert (set(answer["lost_jobs"]), set(answer["timed_out_jobs"])) == (lost, late)

    @rule()
    def check_timeouts(self) -> None:
        answer = self.row("select * from holdfast.check_timeouts()")
        late = self.model.check_timeouts()
        assert (answer["updated_count"], set(answer["updated_jobs"])) == (len(late), late)

    # -- rules: operators ---------------------------------------------------------------------------------------------

    @precondition(lambda self: self.model.jobs)
    @rule(n=which)
    def cancel(self, n: int) -> None:
        job = self.job(n, "working", "failed", "held")
        answer = self.row("select * from holdfast.cancel(%s)", [job])
        assert answer["result"] == self.model.cancel(job)

    @precondition(lambda self: self.model.jobs)
    @rule(n=which, phase=st.none() | phases)
    def retry(self, n: int, phase: str | None) -> None:
        job = self.job(n, "failed", "held", "deadletter", "cancelled")
        answer = self.row("select * from holdfast.retry(%s, %s)", [job], phase)
        assert answer["result"] == self.model.retry(job, phase)

    @precondition(lambda self: self.model.jobs)
    @rule(n=which)
    def reset(self, n: int) -> None:
        job = self.job(n, "failed", "held", "deadletter", "cancelled")
        answer = self.row("select * from holdfast.reset(%s)", [job])
        assert answer["result"] == self.model.reset(job)

    @rule(minutes=st.sampled_from([0, 1, 10]))
    def requeue_stuck(self, minutes: int) -> None:
        taken = {r["requeue_stuck"] for r in self.rows("select * from holdfast.requeue_stuck(%s)", minutes)}
        assert taken == self.model.requeue_stuck(timedelta(minutes=minutes))

    @rule(scope=scopes, minutes=st.none() | st.sampled_from([1, 60]))
    def hold(self, scope: Scope, minutes: int | None) -> None:
        until = None if minutes is None else self.model.now + timedelta(minutes=minutes)
        named = json.dumps({name: value for name, value in scope._asdict().items() if value})
        self.sql("select holdfast.hold(%s, %s)", named, until)
        self.model.holds.place(scope, until, now=self.model.now)

    @precondition(lambda self: any(not hold.released for hold in self.model.holds.values()))
    @rule(n=which)
    def release(self, n: int) -> None:
        scope = pick([scope for scope, hold in self.model.holds.items() if not hold.released], n)
        ids = {Scope(*(row[part] for part in Scope._fields)): row["id"] for row in self.observer.rows(HOLDS)}
        answer = self.row("select * from holdfast.release(%s)", ids[scope])
        assert answer["release"] == self.model.waiting_for(scope)
        self.model.holds[scope].released = True
