"""What the requirements say about patience (A7, B3, C1, D10), as the model's tables: no SQL, no product code."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType

CRASH_CAP = 3
SUSPECT_FROM = 2
PROVIDER_PAUSE = timedelta(seconds=60)
LONGEST_PAUSE = timedelta(days=1)
HOUR = 3600

PERMANENT = (
    "content_policy",
    "token_limit",
    "corrupt_input",
    "encrypted",
    "unsupported_format",
    "too_large",
    "unsafe_archive",
    "empty_text",
    "source_gone",
)
TRANSIENT = (
    "rate_limit",
    "network_timeout",
    "json_parse",
    "unknown",
    "storage_unavailable",
    "timeout",
    "resource_exhausted",
)
UNCHARGED = ("budget_exceeded", "auth", "worker_lost")
CATEGORIES = (*PERMANENT, *TRANSIENT, *UNCHARGED)


@dataclass(frozen=True, slots=True)
class Patience:
    """The waits before each retry, and how many such failures a document may have across its jobs."""

    waits: tuple[int, ...]
    document_limit: int | None = None


@dataclass(frozen=True, slots=True)
class PhaseRules:
    """One phase as the model knows it. `before` is the status a retry resumes from."""

    name: str
    before: str
    queued: str
    working: str
    done: str
    limit: timedelta
    usual: Patience
    special: Mapping[str, Patience] = field(default_factory=dict)
    permanent: Patience = Patience(())
    provider: str | None = None
    budget: str | None = None
    two_level: bool = False

    def patience(self, category: str) -> Patience:
        """How patient to be with a charged category."""
        if category in PERMANENT:
            return self.permanent
        return self.special.get(category, self.usual)


PIPELINE = "proof"
PHASES = (
    PhaseRules(
        name="extract",
        before="uploaded",
        queued="parse_queued",
        working="parsing",
        done="parsed",
        limit=timedelta(minutes=10),
        usual=Patience((60, 300, 900)),
    ),
    PhaseRules(
        name="enrich",
        before="parsed",
        queued="parsed",
        working="enrich",
        done="enriched",
        limit=timedelta(minutes=2),
        usual=Patience((12 * HOUR, 12 * HOUR), 5),
        special=MappingProxyType(
            {
                "rate_limit": Patience((24 * HOUR, 24 * HOUR), 5),
                "json_parse": Patience((12 * HOUR, 12 * HOUR), 3),
            }
        ),
        permanent=Patience((), 1),
        provider="oracle",
        budget="enrichment",
        two_level=True,
    ),
    PhaseRules(
        name="store",
        before="enriched",
        queued="enriched",
        working="store",
        done="complete",
        limit=timedelta(minutes=1),
        usual=Patience((60, 180, 600)),
    ),
)
PHASE = {phase.name: phase for phase in PHASES}


def after(phase: str) -> PhaseRules | None:
    """The phase behind this one."""
    position = [known.name for known in PHASES].index(phase)
    return PHASES[position + 1] if position + 1 < len(PHASES) else None


def reached(phase: str, current: str) -> bool:
    """Whether a job at `current` has come as far as `phase`."""
    names = [known.name for known in PHASES]
    return names.index(phase) <= names.index(current)
