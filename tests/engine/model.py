"""A plain model of the queue, written from the requirements: dictionaries, no SQL. It predicts what each verb does."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal

from tests.engine.model_answers import Answers
from tests.engine.model_history import History
from tests.engine.model_records import FINAL, ZERO, Attempt, Document, Handle, Job, Scope, Worker
from tests.engine.model_rules import (
    CRASH_CAP,
    LONGEST_PAUSE,
    PHASE,
    PHASES,
    PROVIDER_PAUSE,
    SUSPECT_FROM,
    UNCHARGED,
    PhaseRules,
    after,
    reached,
)
from tests.engine.model_scarcity import BUDGET, Holds, Money, next_day, scope_of


class Model(History):
    """Every job, document, worker, hold and cent, as they should be."""

    def __init__(self, now: datetime, daily_limit: Decimal) -> None:
        self.holds = Holds()
        super().__init__(now, Money(daily_limit, self.holds))
        self.documents: dict[int, Document] = {}
        self.keys: dict[tuple[str, str], int] = {}
        self.workers: dict[str, Worker] = {}
        self.answers = Answers()

    # -- submission ---------------------------------------------------------------------------------------------------

    def answer_to(self, organisation: str, *, content: str | None, key: str | None) -> str:
        """What a submission of new content, or of content or a key seen before, is answered."""
        if key is not None and (organisation, key) in self.keys:
            return "existing"
        original = self.original(organisation, content)
        if original is None:
            return "created"
        # What only cancelled jobs brought is the newcomer's.
        return "duplicate" if self._is_carried(original.id) else "created"

    def answer_to_document(self, document: int) -> str:
        """What another submission of a known document is answered."""
        if self.documents[document].failure_state == "permanent_failure":
            return "permanent_failure"
        live = any(job.state not in FINAL for job in self.jobs_of(document))
        return "existing" if live else "created"

    def original(self, organisation: str, content: str | None) -> Document | None:
        """The document that first brought this content."""
        return next(
            (
                document
                for document in self.documents.values()
                if content is not None
                and document.duplicate_of is None
                and (document.organisation, document.content) == (organisation, content)
            ),
            None,
        )

    def heir(self, document: int) -> Document | None:
        """The copy that is carried in the stead of a document whose jobs are all cancelled."""
        copies = [copy for copy in self.documents.values() if copy.duplicate_of == document]
        return min(copies, key=lambda copy: copy.id) if copies and not self._is_carried(document) else None

    def hand_over(self, document: int, heir: Document, job: int) -> None:
        """The content is the heir's from now on, and it gets a job; other copies are copies of the heir."""
        self.documents[document].content = heir.duplicate_of = None
        for copy in self.documents.values():
            if copy.duplicate_of == document:
                copy.duplicate_of = heir.id
        self.add_job(job, heir.id, priority=self.jobs_of(document)[-1].priority)

    def _is_carried(self, document: int) -> bool:
        return any(job.state != "cancelled" for job in self.jobs_of(document))

    def add_job(self, job: int, document: int, *, priority: int = 0) -> None:
        """A job of a known document begins; it waits out the document's cool-down."""
        owner = self.documents[document]
        first = PHASES[0]
        new = Job(job, document, owner.organisation, first.name, first.queued, priority)
        if owner.cool_down_until and owner.cool_down_until > self.now:
            new.state, new.ready_at = "held", owner.cool_down_until
        self.jobs[job] = new

    def add_duplicate(self, job: int, document: int) -> None:
        """A copy of known content is finished before it begins."""
        owner = self.documents[document]
        self.jobs[job] = Job(job, document, owner.organisation, PHASES[0].name, "duplicate", state="done")

    # -- claiming -----------------------------------------------------------------------------------------------------

    def promote(self) -> None:
        """Due retries, cool-downs that are over and jobs of ended holds are ready again."""
        ended = self.holds.drop_ended(self.now)
        for job in self.jobs.values():
            due = job.ready_at is not None and job.ready_at <= self.now
            if due and job.state == "failed":
                job.status = PHASE[job.phase].before
            if due or job.hold in ended:
                job.state, job.ready_at, job.hold = "queued", None, None

    def take(self, worker: str, phase: PhaseRules, limit: int, taken: Iterable[Handle]) -> dict[int, list[Scope]]:
        """Check a claim's answer and follow it. Returns the jobs it must have parked, with the holds each may name."""
        holds = self.holds.over(phase, now=self.now)
        ready = [job for job in self.jobs.values() if job.state == "queued" and job.phase == phase.name]
        if any(scope.organisation is None for scope in holds):
            assert not list(taken), f"claimed from {phase.name}, which is held for all"
            return {}
        held = {scope.organisation for scope in holds}
        free = [job for job in ready if job.organisation not in held]
        self._check_choice(worker, limit, free=free, taken=[self.jobs[job] for job, _ in taken])
        for job, token in taken:
            self._start(self.jobs[job], worker, token)
        return {
            job.id: [scope for scope in holds if scope.organisation == job.organisation]
            for job in ready
            if job.organisation in held and job.crash_count < SUSPECT_FROM
        }

    def _check_choice(self, worker: str, limit: int, *, free: list[Job], taken: list[Job]) -> None:
        """A claim takes as many as it may, the urgent ones first, and suspects of killing workers one at a time."""
        usual = [job for job in free if job.crash_count < SUSPECT_FROM]
        chosen = [job for job in taken if job in usual]
        suspects = [job for job in taken if job not in usual]
        assert all(job in free for job in taken), "claimed a job that may not run now"
        assert len(chosen) == min(limit - len(suspects), len(usual)), "claimed fewer or more than it could"
        left = [job.priority for job in usual if job not in chosen]
        assert not chosen or not left or min(job.priority for job in chosen) >= max(left), "urgent jobs passed over"
        busy = any(job.worker == worker and job.crash_count >= SUSPECT_FROM for job in self.jobs.values())
        assert len(suspects) <= int(not busy), "suspects run alone"
        assert not suspects or not left or suspects[0].priority >= max(left), "a suspect passed urgent jobs"
        passed = [job.priority for job in free if job not in usual and not busy]
        if passed and not suspects:
            full = len(chosen) == limit and min(job.priority for job in chosen) >= max(passed)
            assert full, "a suspect was passed over"

    def _start(self, job: Job, worker: str, token: int) -> None:
        assert token == job.token + 1, "every claim gets a new token"
        job.state, job.status, job.token = "working", PHASE[job.phase].working, token
        job.worker, job.started_at, job.progress, job.progress_at = worker, self.now, None, self.now

    # -- endings ------------------------------------------------------------------------------------------------------

    def settle(self, handle: Handle, cost: Decimal = ZERO, metadata: Mapping[str, int] | None = None) -> str:
        """A phase succeeded."""
        job = self.live(handle)
        if job is None and (later := self.late(handle, cost)):
            return self.settle(later, cost, metadata)
        if job is None:
            return "already" if self.ended_as(handle) == "completed" else "stale"
        phase, following = PHASE[job.phase], after(job.phase)
        self._end(job, "completed", cost)
        document = self.documents[job.document]
        document.metadata.update(metadata or {})
        if phase.two_level:
            document.clear("success")
        job.leave_worker("queued" if following else "done")
        job.phase, job.status = (following.name, following.queued) if following else (job.phase, phase.done)
        job.retry_count = job.crash_count = 0
        self.money.settle(handle, cost, now=self.now)
        return "settled"

    def fail(
        self,
        handle: Handle,
        category: str,
        *,
        retry_after: int | None = None,
        cost: Decimal = ZERO,
        needs: Decimal | None = None,
    ) -> str:
        """A phase failed, and its worker says why."""
        job = self.live(handle)
        if job is None and (later := self.late(handle, cost)):
            return self.fail(later, category, retry_after=retry_after, cost=cost, needs=needs)
        if job is None:
            ended_so = self.ended_as(handle) in ("failed", "timeout", "released")
            ended_so = ended_so and not self.attempts[handle].taken_back
            return "already" if ended_so else "stale"
        outcome = "timeout" if category == "timeout" else "failed"
        self._fail(job, outcome, category, billed=cost, retry_after=retry_after, needs=needs)
        return "failed"

    def give_back(self, handle: Handle, *, cost: Decimal | None = None) -> bool:
        """An attempt ends uncharged, its job waits again. Where no cost is named, all that was set aside is spent."""
        handle = self.last(handle)
        job = self.live(handle)
        if job is None:
            self.learn(handle, cost)
            return False
        may_cost = PHASE[job.phase].provider or PHASE[job.phase].budget
        self._end(job, "released", cost or ZERO, known=False if cost is None and may_cost else None)
        job.leave_worker("queued")
        job.status = PHASE[job.phase].queued
        self.money.settle(handle, cost, now=self.now)
        return True

    def await_answer(self, handle: Handle, within: timedelta, *, cost: Decimal, reference: Handle | None = None) -> str:
        """An attempt hands its work over, uncharged but paid, and its job waits for the answer."""
        job, reference = self.live(handle), reference or handle
        if job is None and (later := self.late(handle, cost)):
            return self.await_answer(later, within, cost=cost, reference=reference)
        if job is None:
            return "already" if handle in self.answers.askers else "stale"
        self._end(job, "released", cost)
        job.leave_worker("held")
        job.status = PHASE[job.phase].queued
        self.money.settle(handle, cost, now=self.now)
        return self.answers.ask(reference, job, self.now + within)

    def _end(self, job: Job, outcome: str, cost: Decimal, *, known: bool | None = None) -> None:
        assert job.handle not in self.attempts, "one attempt per token"
        self.attempts[job.handle] = Attempt(outcome, job.run, job.phase, job.worker, job.started_at, cost, known)
        job.cost += cost

    def _fail(
        self,
        job: Job,
        outcome: str,
        category: str,
        *,
        billed: Decimal | None = None,
        retry_after: int | None = None,
        needs: Decimal | None = None,
    ) -> None:
        phase, document = PHASE[job.phase], self.documents[job.document]
        self.money.settle(job.handle, billed, now=self.now)
        scope = self._hold_for(job, category, retry_after=retry_after, needs=needs)
        state, wait = self._decide(job, category, held=scope is not None)
        if outcome == "lost":
            job.crash_count += 1
            state = "deadletter" if job.crash_count >= CRASH_CAP else state
        if state == "held":
            outcome = "released"
        elif outcome == "timeout" and state == "deadletter":
            outcome = "failed"
        unknown = billed is None and bool(phase.provider or phase.budget)
        self._end(job, outcome, billed or ZERO, known=False if unknown else None)
        job.leave_worker(state)
        job.hold = scope if state == "held" else None
        job.status = phase.queued if state in ("held", "queued") else job.status
        if state == "failed" and wait is not None:
            job.ready_at = self.now + wait
            job.retry_count += 1
        if phase.two_level and category not in UNCHARGED and state != "held":
            self._count(document, phase, category)

    def _decide(self, job: Job, category: str, *, held: bool) -> tuple[str, timedelta | None]:
        """The state a failure leads to, and the wait if it is retried."""
        if held:
            return "held", None
        if category in UNCHARGED:
            return "queued", None
        patience = PHASE[job.phase].patience(category)
        if not patience.waits:
            return "failed", None
        failures = self.documents[job.document].failures.get(category, 0) + 1
        spent = patience.document_limit is not None and failures >= patience.document_limit
        if spent or job.retry_count >= len(patience.waits):
            return "deadletter", None
        return "failed", timedelta(seconds=patience.waits[job.retry_count])

    def _hold_for(self, job: Job, category: str, *, retry_after: int | None, needs: Decimal | None) -> Scope | None:
        """Hold what nobody can use now. Returns the scope the job itself waits for, if it does not fail."""
        phase = PHASE[job.phase]
        scope = scope_of(phase, job.organisation)
        if category == "budget_exceeded":
            if phase.budget:
                scope = BUDGET
                until = self.now if self.money.affords(needs, now=self.now) else next_day(self.now)
                self.holds.place(scope, until, now=self.now, needs=needs)
            else:
                self.holds.place(scope, next_day(self.now), now=self.now)
        elif category == "auth":
            self.holds.place(scope, None, now=self.now)
        elif category == "rate_limit" and retry_after is not None:
            pause = min(timedelta(seconds=retry_after), LONGEST_PAUSE)
            self.holds.place(scope, self.now + pause, now=self.now)
        elif category == "rate_limit":
            self.holds.place(scope, self.now + PROVIDER_PAUSE, now=self.now)
            return None
        else:
            return None
        return scope

    def _count(self, document: Document, phase: PhaseRules, category: str) -> None:
        """A failure counts on its document, across jobs."""
        patience = phase.patience(category)
        document.failures[category] = document.failures.get(category, 0) + 1
        permanent = not patience.waits or document.failures[category] >= (patience.document_limit or 0)
        document.failure_state = "permanent_failure" if permanent else "pending"
        wait = timedelta(seconds=patience.waits[0]) if patience.waits else None
        document.cool_down_until = None if permanent or wait is None else self.now + wait

    # -- time and death -----------------------------------------------------------------------------------------------

    def check_timeouts(self, lease: timedelta | None = None) -> set[int]:
        """Attempts past their limit end. What they spent nobody knows.

        With a lease: those of a worker that may just not have been able to say what it has are left to it.
        """
        late = [
            job
            for job in self.jobs.values()
            if job.started_at
            and job.started_at + PHASE[job.phase].limit < self.now
            and (lease is None or self._could_have_spoken(job, lease))
        ]
        for job in late:
            self._fail(job, "timeout", "timeout")
        return {job.id for job in late}

    def _could_have_spoken(self, job: Job, lease: timedelta) -> bool:
        worker = self.workers[job.worker or ""]
        limit = PHASE[job.phase].limit
        in_touch = worker.in_touch_since + limit <= self.now and worker.seen_at >= self.now - lease / 2
        had_time = job.started_at is not None and job.started_at + limit + lease <= self.now
        return worker.stopped or (in_touch and had_time and not worker.lost)

    def sweep(self, lease: timedelta, by: str | None = None) -> tuple[set[int], set[int]]:
        """Jobs of workers that fell silent or stopped go back, and only those. Then what is late ends."""
        if by is None or self._may_judge(by, lease):
            for worker in self.workers.values():
                worker.lost = worker.lost or (not worker.stopped and worker.seen_at < self.now - lease)
        lost = [job for job in self.jobs.values() if job.worker and self.workers[job.worker].gone]
        for job in lost:
            self._fail(job, "lost", "worker_lost")
        return {job.id for job in lost}, self.check_timeouts(lease if by else None)

    def _may_judge(self, worker: str, lease: timedelta) -> bool:
        """Only who has been in touch for a whole lease can tell that others have not."""
        own = self.workers[worker]
        return not own.gone and own.in_touch_since <= self.now - lease and own.seen_at >= self.now - lease / 2

    def renew(self, worker: str, lease: timedelta) -> None:
        """A worker was heard; one that was declared lost is back."""
        known = self.workers[worker]
        if known.stopped:
            return
        if known.lost or known.seen_at < self.now - lease / 2:
            known.in_touch_since = self.now
        known.seen_at, known.lost = self.now, False

    def heartbeat(
        self, worker: str, handles: Mapping[Handle, float | None], lease: timedelta
    ) -> tuple[bool, set[Handle], dict[Handle, Handle]]:
        """Renew a worker that names what it works on; an older claim it does not name never reached it and goes back.

        Answers whether it is alive, which handles are no longer good, and which go on under another.
        """
        known = self.workers[worker]
        named = {self.last(handle) for handle in handles}
        unknown = [
            job.handle
            for job in self.jobs.values()
            if job.worker == worker and job.started_at and job.started_at < known.seen_at and job.handle not in named
        ]
        for handle in unknown if not known.stopped else ():
            self.give_back(handle, cost=None if handle in self.money.entries else ZERO)
        self.renew(worker, lease)
        if not known.stopped:
            for handle in handles:
                self.resume(handle, worker)
        for handle, progress in handles.items():
            job = self.live(handle)
            if job and progress is not None and progress != job.progress:
                job.progress, job.progress_at = progress, self.now
        going_on = {
            handle: self.last(handle) for handle in handles if not known.stopped and self.live(self.last(handle))
        }
        renewed = {handle: last for handle, last in going_on.items() if last != handle}
        return not known.stopped, handles.keys() - going_on.keys(), renewed

    def forget(self, worker: str) -> None:
        """A worker that was lost or stopped a week ago is not known any more: it must begin under another name."""
        known = self.workers[worker]
        assert known.gone
        assert known.seen_at < self.now - timedelta(days=7)
        known.stopped = True

    # -- operators ----------------------------------------------------------------------------------------------------

    def cancel(self, job_id: int) -> str:
        job = self.jobs[job_id]
        if job.state in FINAL:
            return f"is_{job.state}"
        if job.state == "working":
            handle = job.handle
            paid = PHASE[job.phase].provider or PHASE[job.phase].budget
            self._end(job, "cancelled", ZERO, known=False if paid else None)
            self.money.settle(handle, None, now=self.now)
        job.leave_worker("cancelled")
        return "cancelled"

    def retry(self, job_id: int, phase: str | None = None) -> str:
        job = self.jobs[job_id]
        refusal = self._refusal(job)
        if refusal:
            return refusal
        target = phase or job.phase
        if not reached(target, job.phase):
            return "phase_not_reached"
        self._reopen(job, target, new_run=target != job.phase)
        document = self.documents[job.document]
        if document.failure_state == "permanent_failure":
            document.clear(None)
        return "queued"

    def reset(self, job_id: int) -> str:
        job = self.jobs[job_id]
        refusal = self._refusal(job)
        if refusal:
            return refusal
        self._reopen(job, PHASES[0].name, new_run=True)
        self.documents[job.document].clear(None)
        return "queued"

    def _refusal(self, job: Job) -> str | None:
        if job.state == "done":
            return "already_completed"
        if job.state not in ("failed", "held", "deadletter", "cancelled"):
            return f"is_{job.state}"
        others = [other for other in self.jobs_of(job.document) if other is not job]
        return "document_has_another_live_job" if any(o.state not in FINAL for o in others) else None

    def _reopen(self, job: Job, phase: str, *, new_run: bool) -> None:
        job.leave_worker("queued")
        job.phase, job.status = phase, PHASE[phase].before
        job.run += int(new_run)
        job.retry_count = job.crash_count = 0

    def requeue_stuck(self, stuck_for: timedelta) -> set[int]:
        """Take back what works without progress; what it spent nobody knows."""
        stuck = [j for j in self.jobs.values() if j.progress_at and j.progress_at < self.now - stuck_for]
        for job in stuck:
            handle = job.handle
            self.give_back(handle)
            self.attempts[handle].taken_back = True
        return {job.id for job in stuck}

    def waiting_for(self, scope: Scope) -> int:
        return sum(job.hold == scope for job in self.jobs.values())
