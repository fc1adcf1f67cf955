"""A row of the old table, whatever is in it: every field is text or nothing until it proves to be more."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

from holdfast import json_codec
from holdfast.engine.attempt import Json
from holdfast.engine.strict_json import load
from holdfast.errors import InvalidInput

FIELDS = (
    "status",
    "state",
    "last_error",
    "organisation",
    "name",
    "location",
    "content_hash",
    "metadata",
    "retry_count",
    "created_at",
    "updated_at",
    "input",
)
LONGEST_NAME = 255
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class OldRow:
    """One row: its key, the whole of it as JSON text, and the text of each column that was recognised.

    `unreadable` says why not all of it is text; marks are in the place of what is none.
    """

    key: str
    whole: str
    texts: Mapping[str, str | None]
    unreadable: str | None = None
    _parsed: dict[str, Json] = field(default_factory=dict, compare=False, repr=False)

    def text(self, field: str) -> str | None:
        """A field as it is written; None where it is NULL, or the table has no such column."""
        return self.texts.get(field)

    def json(self, field: str) -> Json:
        """A field's JSON; the text itself where it is none, or none that can be stored."""
        written = self.text(field)
        if written is None:
            return None
        if field not in self._parsed:
            self._parsed[field] = parsed(written)
        return self._parsed[field]

    def short(self, field: str) -> str | None:
        """A field as a name of at most 255 characters; None where nothing is left of it."""
        return cleaned(self.text(field) or "").strip()[:LONGEST_NAME] or None

    def whole_number(self, field: str) -> int:
        """A field as a count; 0 where it is none."""
        return count_of(self.text(field))

    def moment(self, field: str) -> str | None:
        """A field as a moment with its zone, in the form that is stored everywhere; None where it is none."""
        return moment_of(self.text(field))


def parsed(written: str) -> Json:
    """What a text says if it is JSON, with marks in the place of what cannot be stored; else the text."""
    try:
        return cast(Json, load(written.encode()))
    except InvalidInput:
        try:
            return _storable(json_codec.loads(written, parse_constant=str, parse_float=_number_or_text))
        except ValueError:
            return cleaned(written)


def cleaned(text: str) -> str:
    """The text with a mark in the place of what no column holds."""
    return _NOT_STORABLE.sub("\ufffd", text)


def _storable(value: Json) -> Json:
    match value:
        case str():
            return cleaned(value)
        case list():
            return [_storable(one) for one in value]
        case dict():
            return {cleaned(name): _storable(one) for name, one in value.items()}
    return value


def _number_or_text(digits: str) -> Json:
    number = float(digits)
    return number if math.isfinite(number) else digits


def count_of(value: object) -> int:
    """A count, however it is written; 0 where it makes no sense."""
    try:
        number = float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        return 0
    return int(number) if math.isfinite(number) and 0 <= number < 1_000_000 else 0


def moment_of(value: object) -> str | None:
    """A moment in ISO 8601 with its zone, UTC where none is named; None where it is no moment."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        return None
