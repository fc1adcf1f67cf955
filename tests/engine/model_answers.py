"""The model of answers that come later. A reference is the handle by which the asking worker knew its attempt."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from tests.engine.model_records import Handle, Job

KEPT_UNASKED, KEPT_ASKED = timedelta(days=1), timedelta(days=30)


@dataclass(slots=True)
class Ask:
    token: int
    run: int
    phase: str
    deadline: datetime
    answered: bool


class Answers:
    """Who asked, and what came, in whatever order."""

    def __init__(self) -> None:
        self.asked: dict[Handle, Ask] = {}
        self.askers: set[Handle] = set()
        self.early: dict[Handle, datetime] = {}

    def remembered(self, reference: Handle, now: datetime) -> bool:
        """Whether nobody can have forgotten it yet."""
        if ask := self.asked.get(reference):
            return ask.deadline > now - KEPT_ASKED
        return self.early.get(reference, now) > now - KEPT_UNASKED

    def ask(self, reference: Handle, job: Job, deadline: datetime) -> str:
        """A job that was just handed over waits, unless the answer is there."""
        answered = self.early.pop(reference, None) is not None
        self.asked[reference] = Ask(job.token, job.run, job.phase, deadline, answered)
        self.askers.add(job.handle)
        job.state, job.ready_at = ("queued", None) if answered else ("held", deadline)
        return "answered" if answered else "awaits"

    def tell(self, reference: Handle, job: Job, now: datetime) -> str:
        """An answer comes."""
        ask = self.asked.get(reference)
        if reference in self.early or (ask and ask.answered):
            return "already"
        if ask is None:
            self.early[reference] = now
            return "unknown"
        newest = max(other.token for (job_id, _), other in self.asked.items() if job_id == job.id)
        gone = (job.run, job.phase) != (ask.run, ask.phase) or job.state in ("done", "cancelled")
        if gone or ask.token < newest:
            return "late"
        ask.answered = True
        if job.state == "held" and job.hold is None and job.ready_at == ask.deadline:
            job.state, job.ready_at = "queued", None
        return "accepted"
