"""What a model costs goes by its name, and a price that nobody has said is named."""

from decimal import Decimal
from typing import Any

import pytest

from holdfast.providers.pricing import assumptions, chat_prices, embedding_prices, usd_per_minute
from holdfast.providers.usage import Prices
from holdfast.settings import ModelPrice, Settings

CHAT = {"llm_base_url": "https://models.example/v1", "llm_model": "gpt-5"}
PRICES = {
    "gpt-5": ModelPrice(input=Decimal("1.25"), output=Decimal(10), cached=Decimal("0.125")),
    "large": ModelPrice(input=Decimal("0.13")),
    "scribe": ModelPrice(minute=Decimal("0.003")),
    "free": ModelPrice(input=Decimal(0), output=Decimal(0)),
}


def test_each_model_has_its_own_price() -> None:
    settings = Settings(prices=PRICES)
    assert chat_prices(settings, "gpt-5") == Prices(Decimal("1.25"), Decimal(10), Decimal("0.125"))
    assert chat_prices(settings, "free") == Prices()
    assert embedding_prices(settings, "large") == Prices(Decimal("0.13"))
    assert usd_per_minute(settings, "scribe") == Decimal("0.003")


def test_own_price_wins_over_the_known_one() -> None:
    assert usd_per_minute(Settings(), "whisper-1") == Decimal("0.006")
    prices = {"whisper-1": ModelPrice(minute=Decimal(1))}
    assert usd_per_minute(Settings(prices=prices), "whisper-1") == 1


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({}, []),
        ({"embedder_model": "strange"}, []),
        ({"embedder": "openai", "transcriber": "deepgram"}, []),
        (CHAT, [("gpt-5", ("input", "output"))]),
        ({**CHAT, "prices": PRICES}, []),
        ({**CHAT, "prices": {"gpt-5": {"input": 1}}}, [("gpt-5", ("output",))]),
        ({**CHAT, "prices": {"gpt-5-mini": {"input": 1, "output": 1}}}, [("gpt-5", ("input", "output"))]),
        ({**CHAT, "llm_model": "free", "prices": PRICES}, []),
        ({"embedder": "openai", "embedder_model": "strange"}, [("strange", ("input",))]),
        ({"transcriber": "openai", "transcriber_model": "strange"}, [("strange", ("minute",))]),
    ],
)
def test_model_without_a_price_of_its_own_is_named(
    settings: dict[str, Any], named: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert [(one.model, one.parts) for one in assumptions(Settings(**settings))] == named


def test_assumption_says_what_is_assumed_and_what_to_set() -> None:
    (told,) = map(str, assumptions(Settings(**CHAT)))
    assert "input $0.15 and output $0.60" in told
    assert 'set HOLDFAST_PRICES to {"gpt-5": {"input": …, "output": …}}' in told
