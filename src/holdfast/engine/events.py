"""What the engine says while it works: events with fields, never a document's text. The command line formats them."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from holdfast.engine.attempt import Attempt
from holdfast.engine.classify import Failure
from holdfast.engine.journal_files import Subject
from holdfast.engine.pipeline import Awaits, Done, Ending, GiveBack
from holdfast.engine.queue import Handle

_records = logging.getLogger("holdfast")
_records.addHandler(logging.NullHandler())
_listeners: list["Listener"] = []


class Listener(Protocol):
    """Hears of every attempt, on the event loop: it answers at once and never raises."""

    def attempt_started(self, attempt: Attempt) -> None:
        """Called where the attempt runs: what it sets in the context, the handler has."""

    def attempt_ended(self, attempt: Attempt, ending: Ending | None) -> None:
        """Called when the ending is written; None when the claim was gone before."""


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Tell this one too while the block runs."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def worker_started(worker: str, lanes: int) -> None:
    _say(logging.INFO, "worker.started", worker=worker, lanes=lanes)


def settings_doubtful(doubt: str) -> None:
    """It works, but perhaps not as meant."""
    _say(logging.WARNING, "settings.doubtful", doubt=doubt)


def sandbox_has_gaps(gaps: str) -> None:
    """What would protect this machine from a malicious file is not to be had here."""
    _say(logging.WARNING, "sandbox.gaps", gaps=gaps)


def worker_stopped(worker: str, given_back: int) -> None:
    _say(logging.INFO, "worker.stopped", worker=worker, given_back=given_back)


def results_left_on_disk(worker: str, count: int, path: str) -> None:
    """The worker ends, and the database has not taken what it had paid for."""
    _say(
        logging.WARNING,
        "journal.left",
        worker=worker,
        results=count,
        path=path,
        next="start a worker with this HOLDFAST_HOME within a lease after the database is back: it records them",
    )


def worker_lost(worker: str, running: int) -> None:
    """The worker was silent for too long: others may have its jobs now. Its next heartbeat brings it back."""
    _say(logging.WARNING, "worker.lost", worker=worker, running=running)


def claims_renewed(worker: str, count: int) -> None:
    """The worker was taken to be lost and is back: nobody had claimed these jobs, so it goes on with them."""
    _say(logging.WARNING, "worker.renewed", worker=worker, jobs=count)


def lifeline_failed(task: str, error: Exception) -> None:
    """A heartbeat or a sweep failed in a way that nobody foresaw; the next one comes all the same."""
    _say(logging.ERROR, "lifeline.failed", task=task, error=str(error), error_type=type(error).__name__)


def worker_stalled(worker: str, seconds: float) -> None:
    """A handler keeps the event loop from running."""
    _say(logging.CRITICAL, "worker.stalled", worker=worker, seconds=round(seconds, 1))


def attempt_started(attempt: Attempt) -> None:
    """Said to listeners only: its end says everything."""
    for listener in _listeners:
        listener.attempt_started(attempt)


def attempt_ended(attempt: Attempt, ending: Ending) -> None:
    """One line carries everything about an attempt; successes only at level debug, for there are thousands a second."""
    for listener in _listeners:
        listener.attempt_ended(attempt, ending)
    match ending:
        case Done():
            if _records.isEnabledFor(logging.DEBUG):
                _say(
                    logging.DEBUG,
                    "attempt.settled",
                    outcome="completed",
                    cost_usd=None if ending.cost_usd is None else float(ending.cost_usd),
                    **_fields(attempt),
                )
        case Failure():
            _say(
                logging.WARNING,
                "attempt.settled",
                outcome="failed",
                category=str(ending.category),
                error=ending.error,
                error_type=ending.error_type,
                cost_usd=float(ending.cost_usd),
                **_fields(attempt),
            )
        case GiveBack():
            _say(
                logging.INFO,
                "attempt.settled",
                outcome="released",
                reason=ending.reason,
                cost_usd=None if ending.cost_usd is None else float(ending.cost_usd),
                **_fields(attempt),
            )
        case Awaits():
            _say(
                logging.INFO,
                "attempt.settled",
                outcome="released",
                awaits=ending.provider,
                reference=ending.reference,
                cost_usd=float(ending.cost_usd),
                **_fields(attempt),
            )


def attempt_dropped(attempt: Attempt, reason: str) -> None:
    """The claim is gone, so nothing is recorded by this worker."""
    for listener in _listeners:
        listener.attempt_ended(attempt, None)
    _say(logging.WARNING, "attempt.dropped", reason=reason, **_fields(attempt))


def ending_not_written(attempt: Attempt, error: Exception) -> None:
    """Its ending cannot be stored as it is; it is written as a failure that says why."""
    _say(logging.ERROR, "attempt.not_written", error=str(error), **_fields(attempt))


def endings_delayed(attempts: Sequence[Attempt], error: Exception) -> None:
    """The endings of these could not be written yet. They are kept, and offered again."""
    told = {"job": attempts[0].job_id, "endings": len(attempts)}
    _say(logging.WARNING, "attempt.not_written_yet", error=str(error), error_type=type(error).__name__, **told)


def journal_replayed(verb: str, subject: Subject, result: str) -> None:
    """The database has been told of a paid result that a dead worker had left on disk; "stale": of its cost only."""
    _say(logging.WARNING, "journal.replayed", job=subject.job, phase=subject.phase, verb=verb, result=result)


def journal_refused(path: str, subject: Subject, error: Exception) -> None:
    """The database refuses what a dead worker had left on disk; the file stays for someone to look at."""
    _say_of_entry("journal.refused", subject, error, path=path)


def journal_set_aside(path: str, subject: Subject, error: Exception) -> None:
    """The database fails at what a dead worker had left on disk; the next worker that starts offers it once more."""
    _say_of_entry("journal.set_aside", subject, error, path=path)


def journal_not_read(path: str, error: Exception) -> None:
    """What dead workers may have left on disk cannot be read now; the next sweep looks again."""
    _say(logging.ERROR, "journal.not_read", path=path, error=str(error), error_type=type(error).__name__)


def journal_not_kept(subject: Subject, error: Exception) -> None:
    """A paid result is in memory only while the database is away: the disk does not take it. It is tried again."""
    meaning = "if this worker dies before the database is back, the call is paid for again"
    _say_of_entry("journal.not_kept", subject, error, meaning=meaning)


def _say_of_entry(event: str, subject: Subject, error: Exception, **fields: object) -> None:
    _say(
        logging.ERROR,
        event,
        job=subject.job,
        phase=subject.phase,
        **fields,
        error=str(error),
        error_type=type(error).__name__,
    )


def stale_claims(results: Mapping[Handle, str]) -> None:
    for (job_id, token), result in results.items():
        if result == "stale":
            _say(logging.WARNING, "attempt.stale", job=job_id, token=token)


def database_unavailable(error: Exception) -> None:
    _say(logging.WARNING, "database.unavailable", error=str(error))


def index_not_built(error: Exception) -> None:
    """Searches compare with every vector until it is."""
    _say(logging.WARNING, "index.not_built", error=str(error))


def database_awaited(error: Exception, seconds: float) -> None:
    """The process starts as soon as the database answers, and does nothing until then."""
    _say(logging.WARNING, "database.awaited", error=str(error), seconds=round(seconds))


def database_connected(*, pool: int, listening: int) -> None:
    """How many connections this process may use from now on."""
    _say(logging.INFO, "database.connected", connections=pool + listening, pool=pool, listening=listening)


def swept(lost_jobs: list[int], timed_out_jobs: list[int]) -> None:
    if lost_jobs or timed_out_jobs:
        _say(logging.WARNING, "sweep.took_back", lost=lost_jobs, timed_out=timed_out_jobs)


def call_answered(level: int, **fields: object) -> None:
    """A call of the API, when its answer is complete."""
    _say(level, "call.answered", **fields)


def call_not_served(error: Exception) -> None:
    """A caller was told to come back later, and no more."""
    _say(logging.WARNING, "call.not_served", error=str(error), error_type=type(error).__name__)


def answer_came(provider: str, reference: str, result: str) -> None:
    """A provider called back."""
    _say(logging.INFO, "answer.came", provider=provider, reference=reference, result=result)


def _fields(attempt: Attempt) -> dict[str, object]:
    return {
        "job": attempt.job_id,
        "token": attempt.token,
        "document": attempt.document.id,
        "organisation": attempt.document.organisation,
        "pipeline": attempt.pipeline,
        "phase": attempt.phase,
        "attempt": attempt.number,
        "seconds": round(attempt.seconds, 3),
    }


def cleaned(removed: Mapping[str, int]) -> None:
    """What nobody needed any more was removed."""
    if any(removed.values()):
        _say(logging.INFO, "cleaned", **removed)


def not_cleaned(error: Exception) -> None:
    """It is tried again in an hour."""
    _say(logging.WARNING, "not_cleaned", error=str(error), error_type=type(error).__name__)


def delivery_ended(delivery: int, *, receiver: int, about: str, state: str | None, answer: str | None) -> None:
    """One try of telling a receiver what happened; without a state someone else has taken it over."""
    level = logging.DEBUG if state == "delivered" else logging.WARNING
    _say(
        level,
        "delivery.ended",
        delivery=delivery,
        receiver=receiver,
        about=about,
        state=state or "stale",
        answer=answer,
    )


def not_delivering(error: Exception) -> None:
    """What is due waits until the database answers."""
    _say(logging.WARNING, "delivery.not_now", error=str(error), error_type=type(error).__name__)


def alerts_checked(*, opened: int, closed: int) -> None:
    if opened or closed:
        _say(logging.WARNING, "alerts.changed", opened=opened, closed=closed)


def alerts_not_checked(error: Exception) -> None:
    """They are checked again in half a minute."""
    _say(logging.WARNING, "alerts.not_checked", error=str(error), error_type=type(error).__name__)


def chore_failed(error: BaseException) -> None:
    """What was done beside the work is done no more in this process: it must be started anew."""
    _say(logging.CRITICAL, "chore.failed", error=str(error), error_type=type(error).__name__)


def _say(level: int, event: str, **fields: object) -> None:
    _records.log(level, event, extra=fields)
