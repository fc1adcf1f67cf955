"""What a language model promises: a prompt in, text or checked JSON out."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Prompt:
    """`shared` is the same for many prompts, as a whole document is, and stands first so that a provider can cache it.

    Only `instruction` gives orders. `shared` and `question` come from documents: they are material, marked as such by
    every implementation, and what they say is never an instruction.
    """

    instruction: str
    shared: str
    question: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said; `value` is the checked JSON when a schema was asked for."""

    text: str
    value: Any = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)


class LanguageModel(Protocol):
    """Answers prompts. Raises our errors only; a failed call that was billed says so in `cost_usd` of its error.

    `provider` is what a hold names, None when it is local. Of JSON Schema it knows type, properties, required,
    additionalProperties, items, enum, anyOf and the limits of numbers and lengths; another keyword is InvalidInput.
    """

    name: str
    provider: str | None

    async def answer(
        self, prompt: Prompt, *, schema: Mapping[str, Any] | None = None, most_tokens: int = 1000
    ) -> Answer: ...

    def estimate_usd(self, prompt: Prompt, *, most_tokens: int = 1000) -> Decimal:
        """What a call may cost at most, from prices in the settings."""
        ...
