"""What the engine says while it works: events with fields, never a document's text. The command line formats them."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime

import structlog

from holdfast.engine.attempt import Attempt
from holdfast.engine.classify import Failure
from holdfast.engine.pipeline import Done, Ending, GiveBack
from holdfast.engine.queue import Handle

_records = logging.getLogger("holdfast")
_records.addHandler(logging.NullHandler())
_log: structlog.stdlib.BoundLogger = structlog.wrap_logger(
    _records,
    processors=[structlog.stdlib.filter_by_level, structlog.stdlib.render_to_log_kwargs],
    wrapper_class=structlog.stdlib.BoundLogger,
)


def worker_started(worker: str, lanes: int) -> None:
    _log.info("worker.started", worker=worker, lanes=lanes)


def worker_stopped(worker: str, given_back: int) -> None:
    _log.info("worker.stopped", worker=worker, given_back=given_back)


def worker_lost(worker: str, dropped: int) -> None:
    """The worker was silent for too long: others have its jobs now."""
    _log.warning("worker.lost", worker=worker, dropped=dropped)


def worker_stalled(worker: str, seconds: float) -> None:
    """A handler keeps the event loop from running."""
    _log.critical("worker.stalled", worker=worker, seconds=round(seconds, 1))


def attempt_ended(attempt: Attempt, ending: Ending) -> None:
    """One line carries everything about an attempt; successes only at level debug, for there are thousands a second."""
    match ending:
        case Done():
            if _records.isEnabledFor(logging.DEBUG):
                _log.debug(
                    "attempt.settled",
                    outcome="completed",
                    cost_usd=float(ending.cost_usd),
                    **_fields(attempt),
                )
        case Failure():
            _log.warning(
                "attempt.settled",
                outcome="failed",
                category=str(ending.category),
                error=ending.error,
                error_type=ending.error_type,
                cost_usd=float(ending.cost_usd),
                **_fields(attempt),
            )
        case GiveBack(reason):
            _log.info("attempt.settled", outcome="released", reason=reason, **_fields(attempt))


def attempt_dropped(attempt: Attempt, reason: str) -> None:
    """The claim is gone, so nothing is recorded by this worker."""
    _log.warning("attempt.dropped", reason=reason, **_fields(attempt))


def ending_not_written(attempt: Attempt, error: Exception) -> None:
    _log.error("attempt.not_written", error=str(error), **_fields(attempt))


def stale_claims(results: Mapping[Handle, str]) -> None:
    for (job_id, token), result in results.items():
        if result == "stale":
            _log.warning("attempt.stale", job=job_id, token=token)


def database_unavailable(error: Exception) -> None:
    _log.warning("database.unavailable", error=str(error))


def swept(lost_jobs: list[int], timed_out_jobs: list[int]) -> None:
    if lost_jobs or timed_out_jobs:
        _log.warning("sweep.took_back", lost=lost_jobs, timed_out=timed_out_jobs)


def _fields(attempt: Attempt) -> dict[str, object]:
    return {
        "job": attempt.job_id,
        "token": attempt.token,
        "document": attempt.document.id,
        "organisation": attempt.document.organisation,
        "pipeline": attempt.pipeline,
        "phase": attempt.phase,
        "attempt": attempt.number,
        "seconds": round((datetime.now(UTC) - attempt.started_at).total_seconds(), 3),
    }


def cleaned(removed: Mapping[str, int]) -> None:
    """What nobody needed any more was removed."""
    if any(removed.values()):
        _log.info("cleaned", **removed)


def not_cleaned(error: Exception) -> None:
    """It is tried again in an hour."""
    _log.warning("not_cleaned", error=str(error), error_type=type(error).__name__)
