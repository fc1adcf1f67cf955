"""Policies: how patient to be with each category of failure. Declared here, stored as rows, decided by the database."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Literal, Self

from holdfast.engine.fault import FAULTS_OF_THE_FILE
from holdfast.errors import Category

PERMANENT = FAULTS_OF_THE_FILE | {Category.CONTENT_POLICY, Category.TOKEN_LIMIT, Category.SOURCE_GONE}
HOUR = 3600.0
PROVIDER_PAUSE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Rule:
    """What one category of failure leads to.

    `max_retries` 0 is permanent, None is without end. The n-th retry waits the n-th of `wait_seconds`; the last one
    repeats. `holds` says what is kept from being claimed meanwhile: the provider until its Retry-After, the document
    alone until then (for the first wait at least), the budget until its next day, or the provider until someone
    releases it. What is held is not charged. No Retry-After holds for more than a day.
    """

    charged: bool = True
    max_retries: int | None = 3
    document_limit: int | None = None
    wait_seconds: tuple[float, ...] = ()
    jitter: float = 0.0
    holds: Literal["retry_after", "document", "budget_day", "release"] | None = None
    hold_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """A rule for every category. `two_level` also counts failures on the document, across its jobs."""

    name: str
    rules: Mapping[Category, Rule]
    two_level: bool = False

    @classmethod
    def retrying(cls, name: str, wait_seconds: Iterable[float], *, jitter: float = 0.0) -> Self:
        """Retries what may pass as often as there are waits; what cannot pass, never."""
        waits = tuple(wait_seconds)
        usual = Rule(max_retries=len(waits), wait_seconds=waits, jitter=jitter)
        return cls(name, _rules(usual))

    def with_rules(self, rules: Mapping[Category, Rule]) -> "Policy":
        """The same policy with some rules replaced."""
        return replace(self, rules={**self.rules, **rules})

    def declaration(self) -> dict[str, object]:
        """What the database registers."""
        rules = [{"category": category.value, **asdict(rule)} for category, rule in sorted(self.rules.items())]
        return {"name": self.name, "two_level": self.two_level, "rules": rules}


def _rules(usual: Rule) -> dict[Category, Rule]:
    rules = dict.fromkeys(Category, usual)
    rules |= dict.fromkeys(PERMANENT, Rule(max_retries=0))
    rules[Category.RATE_LIMIT] = replace(usual, holds="retry_after", hold_seconds=PROVIDER_PAUSE_SECONDS)
    rules[Category.BUDGET_EXCEEDED] = Rule(charged=False, max_retries=None, holds="budget_day")
    rules[Category.AUTH] = Rule(charged=False, max_retries=None, holds="release")
    rules[Category.WORKER_LOST] = Rule(charged=False, max_retries=None)
    return rules


def _enrichment() -> Policy:
    def waiting(hours: float, document_limit: int) -> Rule:
        return Rule(max_retries=2, document_limit=document_limit, wait_seconds=(hours * HOUR,))

    usual = waiting(12, 5)
    rules = _rules(usual)
    rules |= dict.fromkeys(PERMANENT, Rule(max_retries=0, document_limit=1))
    rules[Category.JSON_PARSE] = waiting(12, 3)
    rules[Category.RATE_LIMIT] = replace(waiting(24, 5), holds="retry_after", hold_seconds=PROVIDER_PAUSE_SECONDS)
    return Policy("enrichment", rules, two_level=True)


PATIENT = Policy.retrying("patient", (60, 300, 900), jitter=0.1)
STORAGE = Policy.retrying("storage", (60, 180, 600))
DOUBLING = Policy.retrying("doubling", (120, 240, 480))
GENERATION = Policy.retrying("generation", (0, 60, 120))
STRICT = Policy.retrying("strict", ())
ENRICHMENT = _enrichment()
# A site that asks for patience is not the only one: nothing but its own document waits.
_ASKED_TO_WAIT = replace(STORAGE.rules[Category.NETWORK_TIMEOUT], holds="document")
FETCHING = replace(STORAGE, name="fetching").with_rules(
    {Category.RATE_LIMIT: _ASKED_TO_WAIT, Category.NETWORK_TIMEOUT: _ASKED_TO_WAIT}
)
