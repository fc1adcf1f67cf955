"""Leaves out files that are written into a text in base64: no reader can read them, and they bury what one can."""

import re
from collections.abc import Iterable, Iterator

from holdfast.extract.reading import Reading

# Shorter ones are examples in texts about them. No part of it may be of any length: the text is anyone's.
_START = re.compile(
    r"data:[A-Za-z]{1,20}/[\w.+-]{1,80}(?:;[\w-]{1,20}=[\w.+-]{1,40}){0,2};[Bb]ase64,[A-Za-z0-9+/_-]{64}"
)
_LONGEST_START = 320
_CODED = re.compile(r"[A-Za-z0-9+/_=%-]*+")
# As a value of its own: without spaces, in lines that only a program makes.
_CODED_VALUE = re.compile(r"(?:[A-Za-z0-9+/_-]{60,}+\r?\n)*+[A-Za-z0-9+/_-]*+={0,2}\s*+")
_FEWEST_CHARACTERS = 1_000
_PICTURE_PATH = re.compile(r"\bimage/[\w.+-]+$")
# Base64 of a file has all of them; genes, figures and words run together lack some.
_ALL_OF = (re.compile("[a-z]"), re.compile("[A-Z]"), re.compile("[0-9]"))


class EmbeddedFiles:
    """Leaves them out of one document, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def leave_out(self, windows: Iterable[str]) -> Iterator[str]:
        """Yield the text without the data: URIs in it, however the windows cut them and however long they are."""
        rest, is_inside = "", False
        for window in windows:
            text, at = rest + window, 0
            kept = []
            while at < len(text):
                if is_inside:
                    at = _end_of_coded(text, at)
                    is_inside = at == len(text)
                elif start := _START.search(text, at):
                    kept.append(text[at : start.start()])
                    at, is_inside = start.end(), True
                    self.count += 1
                else:
                    break
            # The last characters may be where one starts.
            sure = at if is_inside else max(at, len(text) - _LONGEST_START)
            yield "".join([*kept, text[at:sure]])
            rest = text[sure:]
        yield rest

    def leave_out_of(self, value: str) -> str:
        """The value without the data: URIs in it."""
        return "".join(self.leave_out([value])) if "base64," in value else value

    def is_one(self, path: str, value: str) -> bool:
        """Whether a whole value is such a file, as pictures in notebooks are; it is counted if so."""
        found = (
            len(value) >= _FEWEST_CHARACTERS
            and _CODED_VALUE.fullmatch(value) is not None
            and (_PICTURE_PATH.search(path) is not None or all(kind.search(value) for kind in _ALL_OF))
        )
        self.count += found
        return found

    def report(self, reading: Reading) -> None:
        """Warn of how many were left out, if any."""
        if self.count:
            reading.warn("FILES_OMITTED", f"{self.count:,} pictures or other files coded in the text were left out")


def _end_of_coded(text: str, at: int) -> int:
    found = _CODED.match(text, at)
    return found.end() if found else at
