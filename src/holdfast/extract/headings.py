"""Finds the headings of a Markdown text, so that every passage knows under which it stands."""

import re
from collections.abc import Iterator
from pathlib import Path

from holdfast.standard import Span

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.+)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CLOSING = re.compile(r"[ \t]+#+[ \t]*$")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
# A line is read in pieces of this size: one of 50 MB is no heading.
_LINE_CHARACTERS = 10_000
_TITLE_CHARACTERS = 200


def find_headings(text: Path) -> Iterator[Span]:
    """The span of every ATX heading outside code, with the path of headings that leads to it. Reads as it goes."""
    path: list[tuple[int, str]] = []
    begun = 0
    for offset, level, title in _headings(text):
        if path:
            yield Span(begun, offset, "heading", tuple(name for _, name in path))
        path = [*(outer for outer in path if outer[0] < level), (level, title)]
        begun = offset


def _headings(text: Path) -> Iterator[tuple[int, int, str]]:
    """Offset, level and title of every heading, and last the end of the text."""
    fence = ""
    offset = 0
    for line, begins in _lines(text):
        mark = _FENCE.match(line) if begins else None
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        elif begins and not fence and (found := _HEADING.match(line)) and (title := _title(found[2])):
            yield offset, len(found[1]), title
        offset += len(line)
    yield offset, 0, ""


def _lines(text: Path) -> Iterator[tuple[str, bool]]:
    """Every line, a long one in pieces, and whether it is a line's beginning."""
    begins = True
    with text.open(encoding="utf-8", newline="\n") as file:
        while line := file.readline(_LINE_CHARACTERS):
            yield line, begins
            begins = line.endswith("\n")


def _title(words: str) -> str:
    return _ESCAPE.sub(r"\1", _CLOSING.sub("", words.strip())).strip()[:_TITLE_CHARACTERS]
