"""What is said again and again while something is away: at once, then seldom and with how often."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

EVERY_SECONDS = 10.0
JOBS_NAMED = 20
REPEATED = frozenset(
    {
        "alerts.not_checked",
        "attempt.not_written_yet",
        "database.unavailable",
        "delivery.not_now",
        "journal.not_kept",
        "journal.not_read",
        "listening.interrupted",
    }
)


@dataclass(slots=True)
class _Said:
    at: float
    times: int = 0
    jobs: dict[int, None] = field(default_factory=dict)


class SaidSeldom(logging.Filter):
    """Lets one of each through in ten seconds; it says how often it was to be said ("times") and of which jobs."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._said: dict[str, _Said] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        event = record.getMessage()
        if event not in REPEATED:
            return True
        now, said = self._clock(), self._said.get(event)
        if said is None:
            self._said[event] = _Said(now)
            return True
        said.times += 1
        if (job := getattr(record, "job", None)) is not None and len(said.jobs) < JOBS_NAMED:
            said.jobs[job] = None
        if now - said.at < EVERY_SECONDS:
            return False
        if said.times > 1:
            record.times = said.times
            if said.jobs:
                record.jobs = list(said.jobs)
        self._said[event] = _Said(now)
        return True
