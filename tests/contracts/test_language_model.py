"""What every language model promises, run over each of them."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from decimal import Decimal

import pytest

from holdfast.errors import AnswerNotJson, InvalidInput
from holdfast.providers.http import Endpoint, HttpApi
from holdfast.providers.language_model import LanguageModel, Prompt
from holdfast.providers.openai_model import ChatModel, OpenAIModel
from holdfast.providers.usage import Prices
from holdfast.testing import KEY, StandIn

PROMPT = Prompt("Say what the passage is about.", "A long report about harbours.", "The gate was closed.")
PRICES = Prices(input_usd=Decimal(2), output_usd=Decimal(8))
SCHEMA = {
    "type": "object",
    "properties": {"topics": {"type": "array", "items": {"type": "string"}}, "weight": {"type": "integer"}},
    "required": ["topics", "weight"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """A model, and the server that speaks for it."""

    model: LanguageModel
    server: StandIn


async def openai(stack: AsyncExitStack, server: StandIn) -> LanguageModel:
    api = await stack.enter_async_context(HttpApi(Endpoint("openai", server.base_url, KEY)))
    return OpenAIModel(api, ChatModel("chat-model", PRICES))


@pytest.fixture(params=[openai], ids=lambda make: make.__name__)
async def subject(request: pytest.FixtureRequest) -> AsyncIterator[Subject]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(StandIn())
        yield Subject(await request.param(stack, server), server)


async def test_answer_is_text_with_its_cost(subject: Subject) -> None:
    answer = await subject.model.answer(PROMPT)
    assert answer.text == "An answer."
    assert answer.value is None
    assert answer.input_tokens > 0
    assert answer.output_tokens > 0
    assert answer.cost_usd > 0


async def test_answer_with_a_schema_is_checked_json(subject: Subject) -> None:
    answer = await subject.model.answer(PROMPT, schema=SCHEMA)
    assert answer.value == {"topics": ["text"], "weight": 1}


@pytest.mark.parametrize(
    "said",
    ['{"topics": [], "weight": "much"}', '{"topics": []}', '{"topics": [], "weight": 1, "more": 2}', "[]", '{"topi'],
)
async def test_json_of_another_shape_is_refused_and_was_paid(subject: Subject, said: str) -> None:
    subject.server.says = lambda _: said
    with pytest.raises(AnswerNotJson) as caught:
        await subject.model.answer(PROMPT, schema=SCHEMA)
    assert caught.value.cost_usd > 0


async def test_nothing_is_asked_for_a_schema_that_cannot_be_checked(subject: Subject) -> None:
    with pytest.raises(InvalidInput, match="pattern"):
        await subject.model.answer(PROMPT, schema={"type": "string", "pattern": "^a"})
    assert subject.server.calls == []


async def test_estimate_is_not_passed_by_the_cost(subject: Subject) -> None:
    estimate = subject.model.estimate_usd(PROMPT, most_tokens=10)
    answer = await subject.model.answer(PROMPT, most_tokens=10)
    assert 0 < answer.cost_usd <= estimate


async def test_estimate_grows_with_prompt_and_answer(subject: Subject) -> None:
    small = subject.model.estimate_usd(PROMPT, most_tokens=10)
    assert subject.model.estimate_usd(PROMPT, most_tokens=1000) > small
    assert subject.model.estimate_usd(Prompt("x" * 1000, PROMPT.shared, PROMPT.question), most_tokens=10) > small
