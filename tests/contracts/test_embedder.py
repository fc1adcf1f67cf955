"""What every embedder promises, run over each of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import numpy as np
import pytest

from holdfast.errors import EmptyText, InvalidInput
from holdfast.providers.embedder import Embedder
from holdfast.providers.gathering import Gathering
from holdfast.providers.http import Endpoint, HttpApi
from holdfast.providers.light import LightEmbedder
from holdfast.providers.openai_embedder import EmbeddingModel, OpenAIEmbedder
from holdfast.testing import KEY, StandIn
from holdfast.testing.answering import DIMENSION

TEXTS = ["a harbour at night", "the price of wheat", "three short words", "日本語の文", "naïve café — ok", "x" * 5000]


async def openai(stack: AsyncExitStack) -> Embedder:
    server = await stack.enter_async_context(StandIn())
    api = await stack.enter_async_context(HttpApi(Endpoint("openai", server.base_url, KEY)))
    return OpenAIEmbedder(api, EmbeddingModel("embedding-model", DIMENSION))


async def light(_: AsyncExitStack) -> Embedder:
    return LightEmbedder()


async def gathered(_: AsyncExitStack) -> Embedder:
    return Gathering(LightEmbedder(), at_once=2)


@pytest.fixture(params=[light, gathered, openai], ids=lambda make: make.__name__)
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    async with AsyncExitStack() as stack:
        yield await request.param(stack)


async def test_each_text_has_one_unit_vector(embedder: Embedder) -> None:
    embedded = await embedder.embed(TEXTS)
    assert embedded.vectors.shape == (len(TEXTS), embedder.dimension)
    assert embedded.vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(embedded.vectors, axis=1), 1, atol=1e-5)


async def test_vectors_come_in_the_order_of_the_texts(embedder: Embedder) -> None:
    together = (await embedder.embed(TEXTS)).vectors
    for position, text in enumerate(TEXTS):
        alone = (await embedder.embed([text])).vectors
        np.testing.assert_allclose(together[position], alone[0], atol=1e-5)


async def test_different_texts_have_different_vectors(embedder: Embedder) -> None:
    vectors = (await embedder.embed(TEXTS)).vectors
    assert len(np.unique(vectors.round(4), axis=0)) == len(TEXTS)


async def test_callers_at_the_same_time_get_their_own(embedder: Embedder) -> None:
    texts = [f"text number {number}" for number in range(40)]
    answers = await asyncio.gather(*(embedder.embed([text]) for text in texts))
    expected = (await embedder.embed(texts)).vectors
    np.testing.assert_allclose(np.concatenate([answer.vectors for answer in answers]), expected, atol=1e-5)


async def test_more_texts_than_a_batch_are_taken(embedder: Embedder) -> None:
    texts = [f"text number {number}" for number in range(embedder.best_batch + 3)]
    assert (await embedder.embed(texts)).vectors.shape[0] == len(texts)


async def test_no_texts_make_no_vectors(embedder: Embedder) -> None:
    assert (await embedder.embed([])).vectors.shape == (0, embedder.dimension)


@pytest.mark.parametrize("blank", ["", " \n\t"])
async def test_blank_text_is_refused(embedder: Embedder, blank: str) -> None:
    with pytest.raises(EmptyText, match="text 2 of 2"):
        await embedder.embed(["something", blank])


async def test_broken_unicode_is_refused(embedder: Embedder) -> None:
    with pytest.raises(InvalidInput, match="surrogate"):
        await embedder.embed(["half of a pair: \ud83d"])


async def test_tokens_and_cost_are_never_negative(embedder: Embedder) -> None:
    embedded = await embedder.embed(TEXTS)
    assert embedded.tokens > 0
    assert embedded.cost_usd >= 0


async def test_name_stands_for_the_dimension_too(embedder: Embedder) -> None:
    assert embedder.name.endswith(f"-{embedder.dimension}")
