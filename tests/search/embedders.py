"""Embedders for tests: the real light one, under any name, counting its calls."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from holdfast.errors import NetworkTimeout
from holdfast.providers.embedder import Embedded
from holdfast.providers.light import LightEmbedder


async def nothing() -> None:
    """What happens meanwhile, usually."""


@dataclass(slots=True, kw_only=True)
class CountingEmbedder:
    """Keeps every text it was asked for. Fails for good once it has answered `answers` calls."""

    name: str = "light-256"
    dimension: int = 256
    best_batch: int = 2
    paid: bool = True
    provider: str | None = None
    answers: int = 1_000_000
    cost_usd: Decimal = Decimal("0.01")
    meanwhile: Callable[[], Awaitable[None]] = nothing
    calls: list[list[str]] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [text for call in self.calls for text in call]

    async def embed(self, texts: Sequence[str]) -> Embedded:
        if len(self.calls) == self.answers:
            raise NetworkTimeout("the other side broke off", cost_usd=Decimal("0.001"))
        self.calls.append(list(texts))
        await self.meanwhile()
        embedded = await LightEmbedder().embed(texts)
        return Embedded(embedded.vectors, embedded.tokens, self.cost_usd)
