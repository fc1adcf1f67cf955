"""Many small requests become few large calls, and nobody notices except by the time it takes."""

import asyncio
from decimal import Decimal

import pytest

from holdfast.errors import AnswerNotJson, ContentPolicyViolation, RateLimited
from holdfast.providers.gathering import Gathering
from holdfast.providers.http import HttpApi
from holdfast.providers.openai_embedder import EmbeddingModel, OpenAIEmbedder
from holdfast.providers.usage import Prices
from holdfast.testing import HANG, TRUNCATED, StandIn, refusal
from holdfast.testing.answering import DIMENSION

MODEL = EmbeddingModel("embedding-model", DIMENSION, best_batch=10, prices=Prices(input_usd=Decimal(7)))


@pytest.fixture
def gathering(api: HttpApi) -> Gathering:
    return Gathering(OpenAIEmbedder(api, MODEL))


def sizes(stand_in: StandIn) -> list[int]:
    return [len(call.json["input"]) for call in stand_in.calls]


async def test_callers_of_one_moment_share_a_call(gathering: Gathering, stand_in: StandIn) -> None:
    await asyncio.gather(*(gathering.embed([f"text {number}"]) for number in range(10)))
    assert sizes(stand_in) == [10]


async def test_batches_are_never_larger_than_best(gathering: Gathering, stand_in: StandIn) -> None:
    await asyncio.gather(*(gathering.embed([f"text {n} {m}" for m in range(4)]) for n in range(7)))
    assert sum(sizes(stand_in)) == 28
    assert max(sizes(stand_in)) <= 10
    assert len(stand_in.calls) == 4


async def test_request_larger_than_a_batch_is_split(gathering: Gathering, stand_in: StandIn) -> None:
    embedded = await gathering.embed([f"text {number}" for number in range(23)])
    assert embedded.vectors.shape == (23, DIMENSION)
    assert sizes(stand_in) == [10, 10, 3]


async def test_callers_come_again_and_again(gathering: Gathering, stand_in: StandIn) -> None:
    for _ in range(20):
        await gathering.embed(["once more"])
    assert sizes(stand_in) == [1] * 20


async def test_shares_of_the_cost_add_up_exactly(gathering: Gathering, stand_in: StandIn) -> None:
    answers = await asyncio.gather(*(gathering.embed(["word " * (number + 1)]) for number in range(7)))
    assert len(stand_in.calls) == 1
    assert sum(answer.tokens for answer in answers) == 28
    assert sum((answer.cost_usd for answer in answers), Decimal(0)) == 28 * Decimal(7) / 1_000_000
    assert answers[0].cost_usd < answers[6].cost_usd


async def test_refused_text_fails_its_own_caller_only(gathering: Gathering, stand_in: StandIn) -> None:
    bad = refusal(400, "content_policy_violation")
    stand_in.script(bad, lambda answer: answer, bad)
    answers = await asyncio.gather(*(gathering.embed([text]) for text in "abc"), return_exceptions=True)
    assert [type(answer).__name__ for answer in answers] == ["Embedded", "ContentPolicyViolation", "Embedded"]
    assert isinstance(answers[1], ContentPolicyViolation)


async def test_limit_of_the_provider_fails_all_callers_with_one_call(gathering: Gathering, stand_in: StandIn) -> None:
    stand_in.script(refusal(429, retry_after="30"))
    answers = await asyncio.gather(*(gathering.embed([text]) for text in "abc"), return_exceptions=True)
    assert [answer.retry_after_seconds for answer in answers if isinstance(answer, RateLimited)] == [30, 30, 30]
    assert len({id(answer) for answer in answers}) == 3
    assert len(stand_in.calls) == 1


async def test_failure_tells_what_the_parts_before_it_cost(gathering: Gathering, stand_in: StandIn) -> None:
    stand_in.script(lambda answer: answer, refusal(429))
    with pytest.raises(RateLimited) as caught:
        await gathering.embed(["two words"] * 15)
    assert caught.value.cost_usd == 20 * Decimal(7) / 1_000_000


async def test_cost_of_a_failed_batch_is_told_once(gathering: Gathering, stand_in: StandIn) -> None:
    stand_in.script(TRUNCATED)
    answers = await asyncio.gather(*(gathering.embed(["word"]) for _ in range(2)), return_exceptions=True)
    costs = [answer.cost_usd for answer in answers if isinstance(answer, AnswerNotJson)]
    assert len(stand_in.calls) == 1
    assert sorted(costs) == [0, 5 * Decimal(7) / 1_000_000]


async def test_caller_who_leaves_does_not_disturb_others(gathering: Gathering, stand_in: StandIn) -> None:
    leaving = asyncio.create_task(gathering.embed(["never mind"]))
    staying = asyncio.create_task(gathering.embed(["still here"]))
    await asyncio.sleep(0)
    leaving.cancel()
    assert (await staying).vectors.shape == (1, DIMENSION)
    assert leaving.cancelled()


async def test_caller_who_left_before_the_call_is_not_paid_for(gathering: Gathering, stand_in: StandIn) -> None:
    first = asyncio.create_task(gathering.embed(["first"]))
    while not stand_in.calls:
        await asyncio.sleep(0)
    waiting = asyncio.create_task(gathering.embed(["waiting"]))
    await asyncio.sleep(0)
    waiting.cancel()
    await first
    await gathering.embed(["last"])
    assert [call.json["input"] for call in stand_in.calls] == [["first"], ["last"]]


async def test_second_call_leaves_while_the_first_is_under_way(api: HttpApi, stand_in: StandIn) -> None:
    gathering = Gathering(OpenAIEmbedder(api, MODEL), at_once=2)
    stand_in.script(HANG)
    stuck = asyncio.create_task(gathering.embed(["stuck"]))
    while not stand_in.calls:
        await asyncio.sleep(0)
    assert (await gathering.embed(["quick"])).vectors.shape == (1, DIMENSION)
    stuck.cancel()
