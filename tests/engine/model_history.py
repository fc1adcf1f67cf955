"""The model's attempts: what became of each, what the provider charged for it, and endings that come late."""

from datetime import datetime
from decimal import Decimal

from tests.engine.model_records import FINAL, ZERO, Attempt, Handle, Job
from tests.engine.model_rules import PHASE
from tests.engine.model_scarcity import Money


class History:
    """Jobs, their attempts that have ended, and the provider's bill by the handles that called."""

    def __init__(self, now: datetime, money: Money) -> None:
        self.now = now
        self.money = money
        self.jobs: dict[int, Job] = {}
        self.attempts: dict[Handle, Attempt] = {}
        self.bill: dict[Handle, Decimal] = {}

    def jobs_of(self, document: int) -> list[Job]:
        return [job for job in self.jobs.values() if job.document == document]

    def live(self, handle: Handle) -> Job | None:
        """The job, if this handle still has the right to end its attempt."""
        job = self.jobs[handle[0]]
        return job if job.state == "working" and job.token == handle[1] else None

    def ended_as(self, handle: Handle) -> str | None:
        """How that attempt ended; None while it runs."""
        attempt = self.attempts.get(handle)
        return attempt.outcome if attempt else None

    def first(self, handle: Handle) -> Handle:
        """The handle under which an attempt was claimed."""
        before = {(job, attempt.resumed_as): (job, token) for (job, token), attempt in self.attempts.items()}
        while handle in before:
            handle = before[handle]
        return handle

    def charge(self, handle: Handle, price: Decimal) -> None:
        """An attempt calls the provider, who puts that on the bill."""
        self.bill.setdefault(self.first(handle), price)

    def charged(self, handle: Handle) -> Decimal:
        """What the provider wants for the attempt's call, if it made one."""
        return self.bill.get(self.first(handle), ZERO)

    def last(self, handle: Handle) -> Handle:
        """The handle under which an attempt goes on, or went on, that was taken to be lost."""
        while (attempt := self.attempts.get(handle)) and attempt.resumed_as:
            handle = handle[0], attempt.resumed_as
        return handle

    def late(self, handle: Handle, cost: Decimal) -> Handle | None:
        """The handle that decides about an ending which comes late. None: it is too late, and only its cost counts."""
        if (last := self.last(handle)) != handle:
            return last
        resumed = self.resume(handle)
        if resumed is None:
            self.learn(handle, cost)
        return resumed

    def resume(self, handle: Handle, worker: str | None = None) -> Handle | None:
        """Take up again an attempt that was taken from its worker, as long as its token is still the newest."""
        job, lost = self.jobs[handle[0]], self.attempts.get(handle)
        if job.token != handle[1] or job.state not in ("queued", "held", "deadletter"):
            return None
        if lost is None or not lost.taken_away or (lost.taken_back and worker):
            return None  # what an operator took back may end, but not go on
        if (lost.run, lost.phase) != (job.run, job.phase) or lost.known:
            return None  # where its cost came late, so did its ending
        if job.state == "deadletter" and any(other.state not in FINAL for other in self.jobs_of(job.document)):
            return None
        job.leave_worker("working")
        job.token, job.status = job.token + 1, PHASE[job.phase].working
        job.worker, job.started_at, job.progress_at = worker or lost.worker, lost.started_at, self.now
        job.crash_count = max(job.crash_count - int(lost.outcome == "lost"), 0)
        job.cost -= lost.cost
        lost.cost, lost.known, lost.resumed_as = ZERO, None, job.token
        self.money.reopen(handle, job.handle)
        return job.handle

    def learn(self, handle: Handle, cost: Decimal | None) -> None:
        """What an attempt cost that ended without anyone knowing."""
        attempt = self.attempts.get(handle)
        if cost is None or attempt is None or not attempt.may_become_known:
            return
        self.jobs[handle[0]].cost += max(cost - attempt.cost, ZERO)
        attempt.cost, attempt.known = max(cost, attempt.cost), True
        self.money.reopen(handle, handle)
        self.money.settle(handle, attempt.cost, now=self.now)
