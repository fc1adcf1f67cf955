"""Asks paid questions, each only once: what was answered is kept before anything else can fail."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

from holdfast.engine.attempt import Attempt
from holdfast.engine.patience import insist
from holdfast.errors import PhaseError
from holdfast.providers.answers import Answers

Ask: TypeAlias = Callable[[], Awaitable[tuple[Any, Decimal]]]
"""Makes the paid call: its answer, as plain JSON, and what it cost."""


@dataclass(frozen=True, slots=True)
class Question:
    """A paid call, and the part of its document that it shows.

    Of those that show the same part the first goes ahead alone: a provider has it in its cache when the others follow.
    """

    ask: Ask
    shows: str | None = None


@dataclass(slots=True)
class Asked:
    """Answers by the key of their question, and what was paid for them now."""

    answers: dict[str, Any] = field(default_factory=dict)
    cost_usd: Decimal = Decimal(0)


class Asking:
    """The paid questions of one attempt. After a failure nothing new is asked; what is under way is kept."""

    def __init__(self, answers: Answers, attempt: Attempt, *, at_once: int = 1) -> None:
        self._answers = answers
        self._attempt = attempt
        self._at_once = at_once

    async def ask(self, questions: Mapping[str, Question]) -> Asked:
        """Answer them all, from memory where possible, or raise the first failure with all that was spent."""
        known = await insist(lambda: self._answers.recall(self._attempt.document.organisation, list(questions)))
        asked = Asked(dict(known))
        failures: list[Exception] = []
        places = asyncio.Semaphore(self._at_once)

        async def answer(key: str) -> None:
            async with places:
                if not failures:
                    try:
                        await self._pay(key, questions[key], asked)
                    except Exception as error:
                        # Raised below, whatever it is, when no paid call is under way any more.
                        failures.append(error)

        for wave in _waves({key: question for key, question in questions.items() if key not in known}):
            await asyncio.gather(*map(answer, wave))
        if failures:
            if isinstance(failures[0], PhaseError):
                failures[0].cost_usd = asked.cost_usd
            raise failures[0]
        return asked

    async def _pay(self, key: str, question: Question, asked: Asked) -> None:
        try:
            answer, cost_usd = await question.ask()
        except PhaseError as error:
            asked.cost_usd += error.cost_usd
            raise
        asked.cost_usd += cost_usd
        asked.answers[key] = answer
        await self._answers.keep(self._attempt, key, answer, cost_usd)


def _waves(questions: Mapping[str, Question]) -> Iterator[list[str]]:
    """The keys of questions that may be asked at once, in turn."""
    by_part: dict[str | None, list[str]] = {}
    for key, question in questions.items():
        by_part.setdefault(question.shows, []).append(key)
    for part, keys in by_part.items():
        ahead = 0 if part is None else 1
        yield keys[:ahead]
        yield keys[ahead:]
