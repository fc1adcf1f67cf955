"""Embeddings over HTTP: what is asked, what is believed, what it costs."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from holdfast.errors import AnswerNotJson, InvalidInput
from holdfast.providers.http import HttpApi
from holdfast.providers.openai_embedder import EmbeddingModel, OpenAIEmbedder
from holdfast.providers.usage import Prices
from holdfast.testing import TRUNCATED, StandIn
from holdfast.testing.answering import DIMENSION

PRICES = Prices(input_usd=Decimal(1_000_000))  # a dollar per token


@pytest.fixture
def embedder(api: HttpApi) -> OpenAIEmbedder:
    return OpenAIEmbedder(api, EmbeddingModel("embedding-model", DIMENSION, prices=PRICES))


def set_usage(usage: object) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda answer: {**answer, "usage": usage}


async def test_one_call_carries_all_texts(embedder: OpenAIEmbedder, stand_in: StandIn) -> None:
    await embedder.embed(["one", "two"])
    [call] = stand_in.calls
    assert call.json == {"model": "embedding-model", "input": ["one", "two"], "encoding_format": "float"}


async def test_usage_is_what_was_reported(embedder: OpenAIEmbedder) -> None:
    embedded = await embedder.embed(["two words", "three more words"])
    assert embedded.tokens == 5
    assert embedded.cost_usd == 5


async def test_shorter_vectors_are_asked_for_if_the_model_has_them(api: HttpApi, stand_in: StandIn) -> None:
    embedder = OpenAIEmbedder(api, EmbeddingModel("embedding-model", 4, shortens=True))
    assert (await embedder.embed(["text"])).vectors.shape == (1, 4)
    assert stand_in.calls[0].json["dimensions"] == 4
    assert embedder.name == "embedding-model-4"


WRONG: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "another dimension": lambda a: {**a, "data": [{**row, "embedding": [1.0, 2.0]} for row in a["data"]]},
    "one of another dimension": lambda a: {**a, "data": [a["data"][0], {**a["data"][1], "embedding": [1.0]}]},
    "one missing": lambda a: {**a, "data": a["data"][1:]},
    "one twice": lambda a: {**a, "data": [a["data"][0]] * 2},
    "one too many": lambda a: {**a, "data": [*a["data"], {**a["data"][0], "index": 2}]},
    "no data": lambda a: {"usage": a["usage"]},
    "data of another kind": lambda a: {**a, "data": "vectors"},
    "zero": lambda a: {**a, "data": [{**row, "embedding": [0.0] * DIMENSION} for row in a["data"]]},
    "not a number": lambda a: {**a, "data": [{**row, "embedding": [float("nan")] * DIMENSION} for row in a["data"]]},
    "beyond float32": lambda a: {**a, "data": [{**row, "embedding": [1e300] * DIMENSION} for row in a["data"]]},
    "text": lambda a: {**a, "data": [{**row, "embedding": "AAAA"} for row in a["data"]]},
    "index of another kind": lambda a: {**a, "data": [{**row, "index": None} for row in a["data"]]},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
async def test_wrong_vectors_are_refused_and_were_paid(
    embedder: OpenAIEmbedder, stand_in: StandIn, wrong: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    stand_in.script(wrong)
    with pytest.raises(AnswerNotJson) as caught:
        await embedder.embed(["one", "two"])
    assert caught.value.error_code == "WRONG_VECTORS"
    assert caught.value.cost_usd == 2
    assert len(stand_in.calls) == 1


ABSURD = [None, {}, "many", {"prompt_tokens": -5}, {"prompt_tokens": float("nan")}, {"prompt_tokens": True}]


@pytest.mark.parametrize("usage", ABSURD, ids=repr)
async def test_absurd_usage_is_estimated(embedder: OpenAIEmbedder, stand_in: StandIn, usage: object) -> None:
    stand_in.script(set_usage(usage))
    assert (await embedder.embed(["ten letter"])).cost_usd == 6


async def test_huge_usage_is_cut_to_what_was_sent(embedder: OpenAIEmbedder, stand_in: StandIn) -> None:
    stand_in.script(set_usage({"prompt_tokens": 10**30}))
    assert (await embedder.embed(["ten letter"])).cost_usd == 10


async def test_answer_that_breaks_off_is_said_to_have_cost_the_estimate(
    embedder: OpenAIEmbedder, stand_in: StandIn
) -> None:
    stand_in.script(TRUNCATED)
    with pytest.raises(AnswerNotJson) as caught:
        await embedder.embed(["ten letter"])
    assert caught.value.cost_usd == 6


async def test_vectors_are_scaled_to_length_one(embedder: OpenAIEmbedder, stand_in: StandIn) -> None:
    stand_in.script(lambda a: {**a, "data": [{"index": 0, "embedding": [3.0, 4.0, *[0.0] * (DIMENSION - 2)]}]})
    [vector] = (await embedder.embed(["text"])).vectors
    np.testing.assert_allclose(vector[:2], [0.6, 0.8], atol=1e-6)


def test_model_without_dimension_is_refused() -> None:
    with pytest.raises(InvalidInput, match='"embedding-model": dimension must be at least 1'):
        EmbeddingModel("embedding-model", 0)
