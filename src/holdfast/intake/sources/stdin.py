"""A document that is piped in."""

from typing import BinaryIO

from holdfast.intake.found import Found
from holdfast.intake.names import safe_name

PLATFORM = "stdin"


def piped(stream: BinaryIO, *, name: str = "standard input") -> Found:
    """What the stream holds, to be read once. It has no location: only its content says whether it came before."""
    return Found(name=safe_name(name), platform=PLATFORM, content=stream)
