"""Metadata as people write it."""

from collections.abc import Iterable

from holdfast.engine.attempt import Json
from holdfast.errors import InvalidInput


def metadata_of(pairs: Iterable[str]) -> dict[str, Json]:
    """Metadata from `key=value` pairs; values are text."""
    metadata: dict[str, Json] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise InvalidInput(f'"{pair}" is no metadata: write it as key=value')
        metadata[key] = value
    return metadata
