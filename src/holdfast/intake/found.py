"""A document as a source finds it, before anything of it is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from holdfast.engine.attempt import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One document of a source.

    Documents found at the same `location` of the same `platform` are versions of one; without a location each stands
    for itself. `content` is a file, a stream that can be read once, or None where the location is a link that the
    first phase follows. What comes again with the same `key` is the same document, whatever it says. `reading` is when
    it began to be read, by a number of begin_reading(); None: now.
    """

    name: str
    platform: str
    location: str | None = None
    content: Path | BinaryIO | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    key: str | None = None
    reading: int | None = None
