"""What a JSON document holds, value by value, each named by its path."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from holdfast import json_codec
from holdfast.errors import EmptyText
from holdfast.extract.readers.json_tokens import Tokens

_MOST_DEPTH = 100_000
_MOST_PATH_CHARACTERS = 200
_WORDS = {True: "true", False: "false", None: "null"}

# Path and text of a value. After each record comes one where both are empty.
Piece: TypeAlias = tuple[str, str]
State: TypeAlias = Literal["first", "value", "after", "next"]


def walk_tokens(tokens: Tokens) -> Iterator[Piece]:
    """Yield path and text of each value, and an empty piece after each record. Needs no recursion."""
    stack = [_Container("", "")]
    for kind, text in tokens:
        top = stack[-1]
        if kind == "key" and top.takes_key():
            top.key, top.state = text, "value"
        elif kind == "comma" and top.state == "after" and top.closing:
            top.state = "next"
        elif kind == "close" and text == top.closing and top.state in ("first", "after"):
            stack.pop()
            stack[-1].state = "after"
            if top.closing == "}" and stack[-1].closing != "}" and top.count:
                yield "", ""
        elif kind == "open" and top.takes_value():
            stack.append(_Container(top.path_of_value(), "}" if text == "{" else "]"))
            if len(stack) > _MOST_DEPTH:
                raise tokens.malformed(f"nested more than {_MOST_DEPTH:,} deep")
        elif kind in ("string", "number", "word") and top.takes_value():
            path, top.state = top.path_of_value(), "after"
            if text:
                yield path, text
        else:
            raise tokens.malformed(f"unexpected {text[:20]!r}")
    if len(stack) > 1:
        raise tokens.malformed(f"the document ends although {len(stack) - 1:,} brackets are open")
    if not stack[0].count:
        raise EmptyText("the document holds no JSON value", error_code="NO_JSON")


def walk_value(text: str) -> list[Piece]:
    """Return the same as `walk_tokens`, several times as fast, for text that fits in memory.

    Raises ValueError if it is not JSON, and TooDeep if it is nested too deeply for this way.
    """
    # Objects as tuples of pairs keep keys that occur twice, numbers as text keep their digits.
    hooks = {"object_pairs_hook": tuple, "parse_int": str, "parse_float": str, "parse_constant": str}
    value = json_codec.loads(text, **hooks, strict=False)
    pieces: list[Piece] = []
    _collect("", value, pieces)
    if isinstance(value, tuple) and value:
        pieces.append(("", ""))
    return pieces


def _collect(path: str, value: Any, pieces: list[Piece]) -> None:
    if isinstance(value, tuple):
        for key, item in value:
            _collect(_below(path, key), item, pieces)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            _collect(_shortened(f"{path}[{position}]"), item, pieces)
            if isinstance(item, tuple) and item:
                pieces.append(("", ""))
    elif value != "":
        pieces.append((path, value if isinstance(value, str) else _WORDS[value]))


def _below(path: str, key: str) -> str:
    key = " ".join(key.split())
    return _shortened(f"{path}.{key}" if path else key)


def _shortened(path: str) -> str:
    """The path, without its middle if it is very long."""
    if len(path) <= _MOST_PATH_CHARACTERS:
        return path
    half = _MOST_PATH_CHARACTERS // 2
    return f"{path[: half - 1]}\u2026{path[-half:]}"


@dataclass(slots=True)
class _Container:
    """An object or array that is being read, or the document itself, which nothing closes."""

    path: str
    closing: str
    state: State = "first"
    key: str = ""
    count: int = 0

    def takes_key(self) -> bool:
        return self.closing == "}" and self.state in ("first", "next")

    def takes_value(self) -> bool:
        if self.closing == "}":
            return self.state == "value"
        return self.state in ("first", "next") or not self.closing

    def path_of_value(self) -> str:
        """The path of the value that comes next."""
        self.count += 1
        if self.closing == "}":
            return _below(self.path, self.key)
        return _shortened(f"{self.path}[{self.count - 1}]") if self.closing else ""
