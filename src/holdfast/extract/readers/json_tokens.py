"""JSON as a stream of tokens, so that neither the size nor the depth of a document fills the memory."""

import json
import re
from collections.abc import Iterable, Iterator

from holdfast.errors import CorruptInput, TooLarge

# Numbers stay text: 1e400 and an integer of 5,000 digits are shown as their author wrote them.
_TOKEN = re.compile(
    r"""[ \t\n\r]*+(?:
    (?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")(?P<key>[ \t\n\r]*+:)?+
    |(?P<comma>,)|(?P<open>[{\[])|(?P<close>[}\]])
    |(?P<number>-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+)(?![0-9A-Za-z.+-])
    |(?P<word>true|false|null|NaN|-?Infinity)(?![0-9A-Za-z])
    )""",
    re.DOTALL | re.VERBOSE,
)
_BLANK = re.compile(r"[ \t\n\r]*+")
_MOST_STRING_CHARACTERS = 16 << 20
# Longer, and still not a token: it never will be one, unless it is a string.
_MOST_OTHER_CHARACTERS = 64 << 10
_LONGEST_GAP = 1 << 10


class Tokens:
    """The tokens of a document of JSON. Iterating raises CorruptInput where it stops being JSON."""

    def __init__(self, windows: Iterable[str]) -> None:
        self._windows = iter(windows)
        self._text = ""
        self._at = 0
        self._is_last = False
        # Where the text held begins in the document.
        self._line, self._column = 1, 1

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield the kind and the text of each token: open, close, comma, key, string, number or word.

        A key is a string together with its colon.
        """
        while True:
            yield from self._take_whole()
            self._skip_blank()
            if self._is_last and self._at == len(self._text):
                return
            self._extend()

    def malformed(self, what: str) -> CorruptInput:
        """Return the error that says what is wrong where the last token ended."""
        line, column = self._position(self._at)
        return CorruptInput(
            f"not JSON at line {line:,}, column {column:,}: {what}",
            error_code="JSON_MALFORMED",
            details={"line": line, "column": column},
        )

    def _take_whole(self) -> Iterator[tuple[str, str]]:
        """Yield the tokens that certainly end inside the text held: the last one may go on in the next window."""
        text = self._text
        # Blanks between a key and its colon are few; a token this far from the end is whole.
        certain = len(text) if self._is_last else len(text) - _LONGEST_GAP
        while (found := _TOKEN.match(text, self._at)) and found.end() <= certain:
            kind = found.lastgroup or ""
            self._at = found.end()
            if kind == "key" or kind == "string":
                yield kind, self._unescape(found["string"])
            else:
                yield kind, found[kind]

    def _skip_blank(self) -> None:
        if blank := _BLANK.match(self._text, self._at):
            self._at = blank.end()

    def _unescape(self, token: str) -> str:
        if "\\" not in token:
            return token[1:-1]
        try:
            return str(json.loads(token, strict=False))
        except ValueError as error:
            raise self.malformed("a string with an unknown escape ends here") from error

    def _extend(self) -> None:
        """Let go of what was taken, and hold at least twice as much as remains: a long string costs linear time."""
        self._line, self._column = self._position(self._at)
        self._text, self._at = self._text[self._at :], 0
        self._refuse_endless(self._text)
        parts = [self._text]
        missing = len(self._text) + 1
        while missing > 0 and not self._is_last:
            window = next(self._windows, None)
            self._is_last = window is None
            parts.append(window or "")
            missing -= len(parts[-1])
        self._text = "".join(parts)

    def _refuse_endless(self, rest: str) -> None:
        is_string = rest.startswith('"')
        if is_string and len(rest) > _MOST_STRING_CHARACTERS:
            raise TooLarge(
                f"the string at line {self._line:,}, column {self._column:,} has more than "
                f"{_MOST_STRING_CHARACTERS:,} characters, or is never closed",
                error_code="STRING_LIMIT",
            )
        if self._is_last or (not is_string and len(rest) > _MOST_OTHER_CHARACTERS):
            raise self.malformed("this string is never closed" if is_string else f"unexpected {rest[:20]!r}")

    def _position(self, at: int) -> tuple[int, int]:
        newlines = self._text.count("\n", 0, at)
        if not newlines:
            return self._line, self._column + at
        return self._line + newlines, at - self._text.rindex("\n", 0, at)
