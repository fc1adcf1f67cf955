"""The state machine's rules: every verb in any order, by workers alive, dead and returned, against the model."""

import json
import random
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from typing import Any

import psycopg
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from tests.engine.driver import DAILY_LIMIT, LEASE, Driver, pick
from tests.engine.model_records import Scope, Worker
from tests.engine.model_rules import CATEGORIES, PHASE, PHASES, PIPELINE
from tests.engine.observed import HOLDS

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
        self.settle_the_bill()
        self.ask_the_doctor()

    def settle_the_bill(self) -> None:
        """Whoever has called the provider says at last what that cost: then the ledger equals the bill."""
        for handle in self.model.bill:
            self.settle_all([handle])
        self.observer.check(self.model)
        ledger = self.row("select coalesce(sum(cost_usd), 0) as usd from holdfast.pipeline_phase")["usd"]
        assert ledger == sum(self.model.bill.values(), start=Decimal(0))

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
        self.follow_parking(parked, is_full=len(taken) == limit)
        self.handles += taken

    @rule(organisation=organisations, jobs=st.integers(1, 3), amount=st.none() | amounts)
    def begin_enrichment(self, organisation: str, jobs: int, amount: Decimal | None) -> None:
        """The paid phase has the most to lose: bring some jobs there."""
        self.a_worker_starts()
        for _ in range(jobs):
            self.submit_item(organisation)
        self.claim(0, "extract", 4)
        self.settle_all([handle for handle in self.handles[-4:] if self.model.live(handle)])
        self.claim(0, "enrich", 4)
        if amount is not None and self.handles:
            self.call_the_provider(1, amount, amount)

    @precondition(lambda self: self.handles)
    @rule(n=which, amount=amounts, price=amounts)
    def call_the_provider(self, n: int, amount: Decimal, price: Decimal) -> None:
        """No call without money set aside for it. The bill may differ from that."""
        handle = self.handle(n)
        job = self.model.live(handle)
        if self.reserve_amount(handle, amount) and amount and job and PHASE[job.phase].budget:
            self.model.charge(handle, price)

    @precondition(lambda self: self.handles)
    @rule(n=which)
    def settle(self, n: int) -> None:
        self.settle_all([self.handle(n)])

    @precondition(lambda self: self.handles)
    @rule(chosen=st.lists(which, min_size=2, max_size=5))
    def settle_a_group(self, chosen: list[int]) -> None:
        by_job = {handle[0]: handle for handle in (self.handle(n) for n in chosen)}
        self.settle_all(list(by_job.values()))

    @precondition(lambda self: self.handles)
    @rule(
        n=which,
        category=st.sampled_from(CATEGORIES),
        retry_after=st.sampled_from([None, 30, 200_000]),
    )
    def fail(self, n: int, category: str, retry_after: int | None) -> None:
        self.fail_one(self.handle(n), category, retry_after=retry_after)

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
    @rule(chosen=st.lists(which, min_size=1, max_size=3), names_cost=st.booleans())
    def give_back(self, chosen: list[int], names_cost: bool) -> None:
        by_job = {handle[0]: handle for handle in (self.handle(n) for n in chosen)}
        self.give_back_all(list(by_job.values()), names_cost=names_cost)

    @precondition(lambda self: self.handles)
    @rule(n=which, seconds=st.sampled_from([60, 3600]))
    def await_an_answer(self, n: int, seconds: int) -> None:
        self.ask_provider(self.handle(n), timedelta(seconds=seconds))

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
        self.beat(self.worker(n), dict.fromkeys((self.handle(m) for m in chosen), progress))

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
        if self.model.charged(handle):
            return  # who has called the provider says so with the ending
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
            self.model.renew(worker, LEASE)

    @precondition(lambda self: any(job.worker for job in self.model.jobs.values()))
    @rule(n=which, times=st.integers(1, 3))
    def a_worker_crashes(self, n: int, times: int) -> None:
        """It is never heard again; the next sweep takes back what it held, and another claims that, perhaps to die."""
        job = pick([job for job in self.model.jobs.values() if job.worker], n)
        for _ in range(times):
            if job.worker:
                self.silent.add(job.worker)
            self.a_quiet_while()
            self.sweep(0)
            self.a_worker_starts()
            self.claim(0, job.phase, 4)

    @rule(n=which)
    def a_worker_stops(self, n: int) -> None:
        worker = self.worker(n)
        self.sql("select holdfast.stop_worker(%s)", worker)
        self.model.workers[worker].stopped = True
        self.a_worker_starts()

    def a_worker_starts(self) -> None:
        worker = f"worker-{len(self.model.workers)}"
        self.sql("select holdfast.register_worker(%s, 'host', 1)", worker)
        self.model.workers[worker] = Worker(self.model.now, self.model.now)

    @rule(n=st.none() | which)
    def sweep(self, n: int | None) -> None:
        """By a worker, whose word about others counts only if it has been in touch itself; or by whoever knows."""
        self.sweep_by(None if n is None else self.worker(n))

    def sweep_by(self, worker: str | None) -> None:
        answer = self.row("select * from holdfast.sweep(%s, %s)", LEASE.total_seconds(), worker)
        lost, late = self.model.sweep(LEASE, worker)
        assert (set(answer["lost_jobs"]), set(answer["timed_out_jobs"])) == (lost, late)

    # -- rules: weather -----------------------------------------------------------------------------------------------

    @rule()
    def a_quiet_while(self) -> None:
        """Longer than a lease, in which whoever lives is heard as often as it should be."""
        for _ in range(3):
            self.time_passes(4, silently=False)

    @rule(n=which, phase=phases, seconds=st.sampled_from([1, 14, 60]), order=st.randoms(use_true_random=False))
    def the_database_is_away(self, n: int, phase: str, seconds: int, order: random.Random) -> None:
        """It goes in the middle of a claim, whose answer nobody gets, and for everybody; who is back first sweeps."""
        known = len(self.handles)
        self.claim(n, phase, 2)
        del self.handles[known:]
        self.time_passes(seconds, silently=True)
        workers = sorted(self.model.workers.keys() - self.silent)
        order.shuffle(workers)
        for worker in workers:
            held = dict.fromkeys(self.in_hand(worker))
            self.beat(worker, held)
            self.sweep_by(worker)
            # The answer was cut off as well: it names again what it has, by the names it knows.
            self.beat(worker, held)

    @precondition(lambda self: any(attempt.outcome == "lost" for attempt in self.model.attempts.values()))
    @rule(n=which, ending=st.sampled_from(["settle", "fail", "give_back", "await"]))
    def an_ending_comes_late(self, n: int, ending: str) -> None:
        """From a worker that was declared lost and has gone on."""
        lost = [handle for handle in self.handles if self.model.ended_as(handle) == "lost"]
        if not lost:
            return
        handle = pick(lost, n)
        match ending:
            case "settle":
                self.settle_all([handle])
            case "fail":
                self.fail_one(handle, "unknown")
            case "give_back":
                self.give_back_all([handle], names_cost=True)
            case "await":
                self.ask_provider(handle, timedelta(hours=1))

    @precondition(lambda self: self.handles)
    @rule(n=which, verb=st.sampled_from(["claim", "settle", "give_back", "heartbeat", "sweep"]))
    def the_database_is_read_only(self, n: int, verb: str) -> None:
        """Nothing changes, and whoever wanted to write is told why."""
        worker, (job, token) = self.worker(n), self.handle(n)
        item = json.dumps([{"job_id": job, "token": token}])
        lanes = json.dumps([{"pipeline": PIPELINE, "phase": phase.name, "limit": 4} for phase in PHASES])
        arguments = {"claim": (worker, lanes), "heartbeat": (worker, item), "sweep": (10, worker)}.get(verb, (item,))
        marks = ", ".join(["%s"] * len(arguments))
        # What finds nothing to do is not refused; a claim of whoever is gone is, for another reason.
        allowed = (psycopg.errors.lookup("25006"), *([psycopg.Error] if self.model.workers[worker].gone else []))
        with suppress(*allowed), self.connection.transaction():
            self.sql("set transaction read only")
            self.sql(f"select holdfast.{verb}({marks})", *arguments)

    # -- rules: time limits -------------------------------------------------------------------------------------------

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
        document = self.model.jobs[job].document
        if heir := self.model.heir(document):
            made = self.row("select max(id) as id from holdfast.pipeline_job where document_id = %s", heir.id)
            self.model.hand_over(document, heir, made["id"])

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
