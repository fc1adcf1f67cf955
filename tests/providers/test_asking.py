"""Paid questions: each asked once, a few at a time, and nothing that was paid for is lost."""

import asyncio
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from holdfast.db.connection import Database
from holdfast.errors import InvalidInput, NetworkTimeout, PhaseError
from holdfast.providers.answers import Answers
from holdfast.providers.asking import Asking, Question
from tests.engine.scenario import begin, plain

CALL_USD = Decimal("0.5")


class Provider:
    """Answers questions, and knows how many came and how many at once."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.most_at_once = 0
        self._now = 0

    def questions(self, letters: str, **options: Any) -> dict[str, Question]:
        """A question for each letter, under a key made of it."""
        return {letter * 64: self.question(letter, **options) for letter in letters}

    def question(
        self, letter: str, *, shows: str | None = None, fails: Callable[[], Exception] | None = None
    ) -> Question:
        async def ask() -> tuple[Any, Decimal]:
            self.asked.append(letter)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            await asyncio.sleep(0.01)
            self._now -= 1
            if fails is not None:
                raise fails()
            return {"about": letter}, CALL_USD

        return Question(ask, shows)


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
async def asking(database: Database) -> Asking:
    scenario = await begin(database, plain("chunk"))
    await scenario.submit()
    return Asking(Answers(database), await scenario.claim_one("chunk"), at_once=3)


async def test_questions_are_answered_and_paid_once(asking: Asking, provider: Provider) -> None:
    questions = provider.questions("abcdef01")
    first, second = await asking.ask(questions), await asking.ask(questions)
    assert first.answers == second.answers == {letter * 64: {"about": letter} for letter in "abcdef01"}
    assert (first.cost_usd, second.cost_usd) == (8 * CALL_USD, 0)
    assert sorted(provider.asked) == sorted("abcdef01")


async def test_only_so_many_are_asked_at_once(asking: Asking, provider: Provider) -> None:
    await asking.ask(provider.questions("abcdef01"))
    assert provider.most_at_once == 3


async def test_the_first_that_shows_a_part_goes_ahead_alone(asking: Asking, provider: Provider) -> None:
    parts = {"a": "x", "b": "x", "c": "y", "d": "x", "e": "y"}
    await asking.ask({letter * 64: provider.question(letter, shows=part) for letter, part in parts.items()})
    assert provider.asked == ["a", "b", "d", "c", "e"]
    assert provider.most_at_once == 2


async def test_of_a_part_that_was_begun_the_first_unanswered_goes_ahead(asking: Asking, provider: Provider) -> None:
    await asking.ask(provider.questions("a", shows="x"))
    await asking.ask(provider.questions("abcd", shows="x"))
    assert provider.asked == ["a", "b", "c", "d"]
    assert provider.most_at_once == 2


async def test_a_failure_says_what_was_spent_and_keeps_what_was_answered(asking: Asking, provider: Provider) -> None:
    def fails() -> PhaseError:
        return NetworkTimeout("no answer", cost_usd=Decimal("0.1"))

    questions = provider.questions("abcdef01")
    with pytest.raises(NetworkTimeout) as raised:
        await asking.ask(questions | provider.questions("b", fails=fails))
    assert raised.value.cost_usd == 2 * CALL_USD + Decimal("0.1")
    assert sorted(provider.asked) == ["a", "b", "c"]
    assert (await asking.ask(questions)).cost_usd == 6 * CALL_USD
    assert sorted(provider.asked) == sorted("abcdef01" + "b")


async def test_of_two_failures_the_first_is_told_with_the_cost_of_both(asking: Asking, provider: Provider) -> None:
    def failing(text: str) -> Callable[[], Exception]:
        return lambda: NetworkTimeout(text, cost_usd=Decimal("0.1"))

    questions = provider.questions("a", fails=failing("first")) | provider.questions("b", fails=failing("second"))
    with pytest.raises(NetworkTimeout, match="first") as raised:
        await asking.ask(questions)
    assert raised.value.cost_usd == Decimal("0.2")


async def test_a_call_that_was_wrong_loses_no_answer_either(asking: Asking, provider: Provider) -> None:
    questions = provider.questions("ac")
    with pytest.raises(InvalidInput):
        await asking.ask(provider.questions("b", fails=lambda: InvalidInput("cannot be sent")) | questions)
    assert (await asking.ask(questions)).cost_usd == 0
