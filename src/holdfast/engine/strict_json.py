"""JSON as PostgreSQL's jsonb accepts it: no NUL, no lone surrogate, no NaN, no infinity."""

import json
import math
import re
from typing import NoReturn

from holdfast import json_codec
from holdfast.errors import InvalidInput

_ENCODER = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"))
_FEW = 1000
# An even number of backslashes before \u0000 means the escape is real and not the text "\u0000".
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def dump(value: object) -> bytes:
    """Return compact UTF-8 that any jsonb column accepts, or raise InvalidInput saying why it cannot be."""
    try:
        text = json_codec.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        body = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput("the value holds a lone surrogate: decode the text properly first") from error
    except json_codec.TooDeep as error:
        raise InvalidInput(f"the value is {error}") from error
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"the value is not plain JSON ({error}): use str, int, float, list, dict") from error
    if "\\u0000" in text and _ESCAPED_NUL.search(text):
        raise InvalidInput("the value holds a NUL character, which PostgreSQL cannot store: remove it")
    return body


def exceeds(value: object, size: int) -> bool:
    """Whether `dump` would return more than so many bytes. Cheap for small values, and never looks far beyond that."""
    if _is_small(value):
        return False
    written = 0
    try:
        for part in _ENCODER.iterencode(value):
            written += len(part) if part.isascii() else len(part.encode(errors="replace"))
            if written > size:
                return True
    except (TypeError, ValueError, RecursionError):
        pass  # `dump` says what is wrong with it
    return False


def _is_small(value: object) -> bool:
    """Whether a look at a thousand parts of it shows all, and none of them is a long text."""
    waiting: list[object] = [value]
    for _ in range(_FEW):
        if not waiting:
            return True
        part = waiting.pop()
        if isinstance(part, str):
            if len(part) > _FEW:
                return False
        elif isinstance(part, dict):
            if len(part) > _FEW or any(isinstance(key, str) and len(key) > _FEW for key in part):
                return False
            waiting.extend(part.values())
        elif isinstance(part, list | tuple):
            if len(part) > _FEW:
                return False
            waiting.extend(part)
    return not waiting


def load(body: bytes) -> object:
    """Return the value of `body`, or raise InvalidInput if it is not JSON that `dump` could have written."""
    try:
        text = body.decode()
        value: object = json_codec.loads(text, parse_constant=_refuse, parse_float=_finite)
    except ValueError as error:
        raise InvalidInput(f"not JSON that can be stored: {error}") from error
    if "\\u" in text:
        # Only an escape can spell a NUL or a lone surrogate; they are rare enough to pay for a full check.
        dump(value)
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is out of range")
    return number
