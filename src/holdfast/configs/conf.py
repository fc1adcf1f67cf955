"""The syntax of .conf files: stanzas and settings out of lines, and what could not be read told line by line."""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from holdfast.configs.lines import Line

DEFAULT = "default"
# As long as an index can hold together with a path, and longer than any honest name.
MOST_NAME_BYTES = 1_000
MOST_VALUE_CHARACTERS = 1_000_000

_COMMENTS = ("#", ";")
_CONTINUED = "\\"
_SHOWN_CHARACTERS = 200
_TOO_LONG = f"sets a value of more than {MOST_VALUE_CHARACTERS:,} characters, which was left out"


@dataclass(frozen=True, slots=True)
class Stanza:
    """A stanza where its file opens it first. `number` counts the file's stanzas from 1."""

    number: int
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Setting:
    """A key and its value; `line` is where it begins."""

    stanza: int
    line: int
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that breaks the syntax, or is kept otherwise than it stands; `text` is its beginning."""

    line: int
    message: str
    text: str


Item: TypeAlias = Stanza | Setting | BadLine


def parse(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield every stanza once, before its settings, every setting in its order, and every line that is not right.

    One bad line costs nothing but itself. What stands before the first stanza belongs to `default`.
    """
    return _Parser(iter(lines)).items()


class _Parser:
    """Reads one file. Memory grows with the number of different stanzas in it only."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self._numbers: dict[str, int] = {}
        self._stanza = 0

    def items(self) -> Iterator[Item]:
        for line in self._lines:
            text = line.text.strip()
            if text.startswith("["):
                yield from self._header(line, text)
            elif text and not text.startswith(_COMMENTS):
                yield from self._setting(line, text)
            else:
                yield from _told(line, line.problem)

    def _header(self, line: Line, text: str) -> Iterator[Item]:
        name, fault = _name_of(text)
        yield from self._open(name, line.number)
        yield from _told(line, line.problem, fault)

    def _open(self, name: str, line: int) -> Iterator[Stanza]:
        known = self._numbers.get(name)
        self._stanza = known or len(self._numbers) + 1
        if known is None:
            self._numbers[name] = self._stanza
            yield Stanza(self._stanza, name, line)

    def _setting(self, line: Line, text: str) -> Iterator[Item]:
        key, equals, value = (part.strip() for part in text.partition("="))
        if fault := _fault_of(key, equals):
            yield from _told(line, line.problem, fault)
            return
        whole, fault = yield from self._continued(line, value)
        too_long = _TOO_LONG if len(whole) > MOST_VALUE_CHARACTERS else None
        yield from _told(line, line.problem, fault, too_long)
        if too_long:
            return
        if not self._stanza:
            yield from self._open(DEFAULT, line.number)
        yield Setting(self._stanza, line.number, key, whole)

    def _continued(self, first: Line, value: str) -> Generator[BadLine, None, tuple[str, str | None]]:
        """Return the value with the lines that continue it, and what is wrong with how the first one ends.

        Of a value that is too long, little more than is allowed. What is wrong with the other lines is told here.
        """
        whole, line, fault = value, first, None
        while value.endswith(_CONTINUED):
            whole = whole.removesuffix(_CONTINUED)
            following = next(self._lines, None)
            if following is None:
                fault = "ends with a backslash, but no line follows"
                break
            if line is not first:
                yield from _told(line, line.problem)
            line, value = following, following.text.rstrip()
            if len(whole) <= MOST_VALUE_CHARACTERS:
                whole = f"{whole}\n{value}"
        if line is first:
            return whole, fault
        yield from _told(line, line.problem, fault)
        return whole, None


def _name_of(text: str) -> tuple[str, str | None]:
    """The name in a header, and what is wrong with it.

    A wrong header opens a stanza too: what follows it does not belong to the one before.
    """
    inner = text[1:]
    name = inner.removesuffix("]") if inner.endswith("]") else inner.partition("]")[0]
    fault = None
    if not inner.endswith("]"):
        fault = "has text behind the stanza's name" if "]" in inner else "opens a stanza and does not close the bracket"
    name = name.strip()
    if not name:
        return DEFAULT, f"names no stanza: what follows was taken for {DEFAULT}"
    if len(name.encode()) > MOST_NAME_BYTES:
        cut = name.encode()[:MOST_NAME_BYTES].decode(errors="ignore")
        return cut, f"names a stanza with more than {MOST_NAME_BYTES:,} bytes, which was cut"
    return name, fault


def _fault_of(key: str, equals: str) -> str | None:
    if not equals:
        return "is neither a stanza, a setting nor a comment: key = value is expected"
    if not key:
        return "has no key before the equals sign"
    if len(key.encode()) > MOST_NAME_BYTES:
        return f"has a key of more than {MOST_NAME_BYTES:,} bytes"
    return None


def _told(line: Line, *problems: str | None) -> Iterator[BadLine]:
    """A line is bad once, whatever is wrong with it."""
    if message := "; ".join(filter(None, problems)):
        yield BadLine(line.number, message, line.text.strip()[:_SHOWN_CHARACTERS])
