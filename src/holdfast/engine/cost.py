"""What is known of an attempt's cost."""

from collections.abc import Mapping
from typing import Any


def cost_is_open(error: Mapping[str, Any] | None) -> bool:
    """Whether an attempt with this error may have cost more than is recorded: it ended before it could say."""
    details = (error or {}).get("details") or {}
    return details.get("cost_is_known") is False
