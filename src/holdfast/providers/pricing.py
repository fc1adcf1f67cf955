"""What each remote model costs, by its name: as the settings say, as is known of the usual ones, or assumed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from holdfast.providers.usage import Prices
from holdfast.settings import ModelPrice, Settings

USUAL_TRANSCRIBERS: Mapping[str, str] = {"openai": "whisper-1", "deepgram": "nova-3"}
KNOWN: Mapping[str, ModelPrice] = {
    "text-embedding-3-small": ModelPrice(input=Decimal("0.02")),
    "whisper-1": ModelPrice(minute=Decimal("0.006")),
    "nova-3": ModelPrice(minute=Decimal("0.006")),
}
# Without any figure nothing would be reserved, and no budget would ever end.
ASSUMED = ModelPrice(input=Decimal("0.15"), output=Decimal("0.60"), minute=Decimal("0.006"))


@dataclass(frozen=True, slots=True)
class Assumption:
    """A model that is charged for, and has no price of its own for these parts of what it does."""

    model: str
    parts: tuple[str, ...]

    def __str__(self) -> str:
        assumed = " and ".join(f"{part} ${getattr(ASSUMED, part)}" for part in self.parts)
        wanted = ", ".join(f'"{part}": …' for part in self.parts)
        return (
            f'the price of "{self.model}" is not known, so budgets and costs assume {assumed}: '
            f'set HOLDFAST_PRICES to {{"{self.model}": {{{wanted}}}}}'
        )


def chat_prices(settings: Settings, model: str) -> Prices:
    """What a language model charges for tokens."""
    price = _price(settings, model)
    return Prices(_part(price, "input"), _part(price, "output"), price.cached)


def embedding_prices(settings: Settings, model: str) -> Prices:
    """What an embedder charges for tokens."""
    return Prices(_part(_price(settings, model), "input"))


def usd_per_minute(settings: Settings, model: str) -> Decimal:
    """What a transcriber charges for a minute."""
    return _part(_price(settings, model), "minute")


def assumptions(settings: Settings) -> list[Assumption]:
    """The remote models of these settings whose price nobody has said."""
    used = ((model, parts, _price(settings, model)) for model, parts in _used(settings))
    lacking = ((model, tuple(part for part in parts if getattr(price, part) is None)) for model, parts, price in used)
    return [Assumption(model, parts) for model, parts in lacking if parts]


def _used(settings: Settings) -> Iterator[tuple[str, tuple[str, ...]]]:
    if settings.llm_model is not None:
        yield settings.llm_model, ("input", "output")
    if settings.embedder == "openai":
        yield settings.embedder_model, ("input",)
    if settings.transcriber in USUAL_TRANSCRIBERS:
        yield settings.transcriber_model or USUAL_TRANSCRIBERS[settings.transcriber], ("minute",)


def _price(settings: Settings, model: str) -> ModelPrice:
    return settings.prices.get(model) or KNOWN.get(model) or ModelPrice()


def _part(price: ModelPrice, part: str) -> Decimal:
    own: Decimal | None = getattr(price, part)
    assumed: Decimal = getattr(ASSUMED, part)
    return assumed if own is None else own
