"""Makes text of unknown origin fit to be stored and shown: no secrets, nothing jsonb refuses, no excess."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TypeVar

REDACTED = "[redacted]"

_T = TypeVar("_T")

_TEXT_LIMIT = 1_000
_DETAILS_LIMIT = 16_384
_DEPTH_LIMIT = 4
_ENTRY_LIMIT = 50
# Scrubbing looks at this much, so that a text of any size costs little and a secret is never cut in half
# where the half would be kept.
_SCRUB_LIMIT = 65_536

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SECRET_NAME = re.compile(r"(?i)(?:key|token|secret|passwd|password|pwd|signature|authorization|credentials?|cookie)$")
# To the end of the value, past what of it is redacted already: that keeps its bracket, and no rest of it is shown.
_VALUE = r"(?:\[redacted\]|[^\s\"'&,;)}\]])+"
_SECRETS = (
    (re.compile(r"(?i)(authorization[\"']?\s*[:=]\s*[\"']?)(?:\w+ )?[^\s\"',;}]+"), rf"\g<1>{REDACTED}"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}"), rf"\g<1> {REDACTED}"),
    (re.compile(r"\b(?:hf_|sk-|pk-|ghp_|gho_|xox[abp]-|AKIA|AIza|eyJ)[\w.-]{8,}"), REDACTED),
    (re.compile(r"://([^\s/:@]{0,256}):[^\s/]{1,512}@"), rf"://\g<1>:{REDACTED}@"),
    (
        re.compile(rf"(?i)((?:key|token|secret|passwd|password|pwd|signature|sig)[\"']?\s*=\s*[\"']?){_VALUE}"),
        rf"\g<1>{REDACTED}",
    ),
    (
        re.compile(rf"(?i)((?:api[_-]?key|_token|secret|passwd|password)[\"']?\s*:\s*[\"']?){_VALUE}"),
        rf"\g<1>{REDACTED}",
    ),
)


def clean_text(text: str, *, limit: int = _TEXT_LIMIT) -> str:
    """Return the beginning of `text`, at most `limit` characters, scrubbed and storable."""
    cleaned = _scrub(text[:_SCRUB_LIMIT])
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"


def clean_tail(text: str, *, limit: int = _TEXT_LIMIT) -> str:
    """Return the end of `text`, at most `limit` characters, scrubbed and storable."""
    cleaned = _scrub(text[-_SCRUB_LIMIT:])
    return cleaned if len(cleaned) <= limit else "…" + cleaned[1 - limit :]


def clean_details(details: Mapping[str, object]) -> dict[str, object]:
    """Return what of `details` jsonb can hold and fits into 16 kB; a secret keeps its name, not its value."""
    kept: dict[str, object] = {}
    room = _DETAILS_LIMIT
    for name, value in _clean_entries(details, depth=0).items():
        room -= len(json.dumps({name: value}))
        if room < 0:
            break
        kept[name] = value
    return kept


def _scrub(text: str) -> str:
    text = _UNSTORABLE.sub("", text)
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


def _clean_entries(entries: Mapping[object, object] | Mapping[str, object], depth: int) -> dict[str, object]:
    cleaned: dict[str, object] = {}
    for name, value in _first(entries.items()):
        key = clean_text(str(name), limit=100)
        cleaned[key] = REDACTED if _SECRET_NAME.search(key) else _clean_value(value, depth + 1)
    return cleaned


def _clean_value(value: object, depth: int) -> object:
    match value:
        case None | bool():
            return value
        case int():
            # Python refuses to print integers of thousands of digits.
            return int(value) if value.bit_length() <= 256 else f"an integer of {value.bit_length()} bits"
        case float():
            return float(value) if math.isfinite(value) else None
        case Mapping() if depth < _DEPTH_LIMIT:
            return _clean_entries(value, depth)
        case list() | tuple() | set() | frozenset() if depth < _DEPTH_LIMIT:
            return [_clean_value(member, depth + 1) for member in _first(value)]
        case _:
            return clean_text(str(value))


def _first(members: Iterable[_T]) -> Iterable[_T]:
    return islice(members, _ENTRY_LIMIT)
