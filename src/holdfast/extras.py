"""The extras: what the base install does without, and how to get it."""

from typing import Literal

Extra = Literal["audio", "dashboard", "mcp", "ocr", "otel"]


def install(extra: Extra) -> str:
    """The command that installs it."""
    return f"pip install 'holdfast[{extra}]'"
