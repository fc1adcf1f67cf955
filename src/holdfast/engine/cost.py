"""What is known of an attempt's cost, and how money reads to people."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any


def cost_is_open(error: Mapping[str, Any] | None) -> bool:
    """Whether an attempt with this error may have cost more than is recorded: it ended before it could say."""
    details = (error or {}).get("details") or {}
    return details.get("cost_is_known") is False


def money(usd: Decimal | float) -> str:
    """Dollars with as many places as small amounts need."""
    if not usd:
        return "$0"
    if usd < 0:
        return f"-{money(-usd)}"
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.6f}".rstrip("0").ljust(5, "0")
