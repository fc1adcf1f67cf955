"""JSON of unknown origin: how deep it may be nested is counted here, the same for every Python and every door."""

import json
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

MAX_DEPTH = 200
"""Arrays and objects within each other. Code that walks a value by recursion has room for this many."""

_ESCAPED = re.compile(r"\\.", re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = dict(zip(b"[]{}", (1, -1, 1, -1), strict=True))
_WINDOW_CHARACTERS = 1 << 20


class TooDeep(ValueError):
    """JSON that is nested deeper than anything of use."""

    def __init__(self) -> None:
        super().__init__(f"nested more than {MAX_DEPTH} deep: flatten it")


def loads(body: str | bytes, **options: Any) -> Any:
    """Return what `json.loads` does, or raise its ValueError, of which TooDeep is one. Never RecursionError."""
    text = body if isinstance(body, str) else body.decode(json.detect_encoding(body), "surrogatepass")
    check_depth(text)
    return json.loads(text, **options)


def dumps(value: object, **options: Any) -> str:
    """Return what `json.dumps` does, or raise its TypeError or ValueError. Never RecursionError."""
    try:
        text = json.dumps(value, **options)
    except RecursionError:
        raise TooDeep from None
    check_depth(text)
    return text


def check_depth(text: str) -> None:
    """Raise TooDeep if the brackets of this JSON, well formed or not, are nested beyond the limit."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for brackets in _brackets(_ESCAPED.sub("", text) if "\\" in text else text):
        depths = list(accumulate(map(_STEPS.__getitem__, brackets), initial=depth))
        if max(depths) > MAX_DEPTH:
            raise TooDeep
        depth = depths[-1]


def _brackets(text: str) -> Iterator[bytes]:
    """The brackets outside of strings, some at a time: a text without escapes has strings between every other quote."""
    in_string = False
    for start in range(0, len(text), _WINDOW_CHARACTERS):
        parts = text[start : start + _WINDOW_CHARACTERS].split('"')
        yield "".join(parts[in_string::2]).encode("ascii", "ignore").translate(None, _NO_BRACKETS)
        in_string ^= len(parts) % 2 == 0
