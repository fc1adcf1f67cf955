"""What a call costs: prices from the settings, token counts from answers that may lie."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

_MILLION = Decimal(1_000_000)
_MINUTE = Decimal(60)


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens. Cached input costs as much as other input unless it has a price of its own."""

    input_usd: Decimal = Decimal(0)
    output_usd: Decimal = Decimal(0)
    cached_input_usd: Decimal | None = None

    def cost(self, usage: "Usage") -> Decimal:
        """What that much comes to."""
        cached_usd = self.input_usd if self.cached_input_usd is None else self.cached_input_usd
        fresh = usage.input_tokens - usage.cached_tokens
        total = fresh * self.input_usd + usage.cached_tokens * cached_usd + usage.output_tokens * self.output_usd
        return total / _MILLION


FREE = Prices()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, never negative; `cached_tokens` are part of `input_tokens`."""

    input_tokens: int
    output_tokens: int = 0
    cached_tokens: int = 0


def read_usage(reported: object, *, sent: bytes, answered: str = "", most_tokens: int = 0) -> Usage:
    """Read what a provider reports. What it cannot have been is cut to what it can, what is missing is estimated."""
    usage = reported if isinstance(reported, Mapping) else {}
    # A token is at least a byte of what was sent.
    input_tokens = _plausible(usage.get("prompt_tokens"), most=len(sent), estimate=estimate_tokens(len(sent)))
    output_estimate = min(estimate_tokens(len(answered.encode(errors="replace"))), most_tokens)
    output_tokens = _plausible(usage.get("completion_tokens"), most=most_tokens, estimate=output_estimate)
    details = usage.get("prompt_tokens_details")
    cached: Any = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    return Usage(input_tokens, output_tokens, _plausible(cached, most=input_tokens, estimate=0))


def estimate_tokens(byte_count: int) -> int:
    """More than all but odd text has: two bytes to a token, where English takes four."""
    return byte_count // 2 + 1


def recording_cost(seconds: float, usd_per_minute: Decimal) -> Decimal:
    """What a recording of that length comes to, to the tenth of a second."""
    return Decimal(round(seconds, 1)).quantize(Decimal("0.1")) * usd_per_minute / _MINUTE


def plausible_seconds(reported: object, *, byte_count: int, otherwise: float) -> float:
    """The length of a recording as reported, if a file of that size can be so long: at least 2 kbit/s."""
    if isinstance(reported, bool) or not isinstance(reported, int | float) or not math.isfinite(reported):
        return otherwise
    return float(reported) if 0 <= reported <= byte_count / 250 else otherwise


def _plausible(reported: object, *, most: int, estimate: int) -> int:
    if isinstance(reported, bool) or not isinstance(reported, int) or reported < 0:
        return estimate
    return min(reported, most)
