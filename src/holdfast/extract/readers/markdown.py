"""Markdown, kept as it is, with underlined headings turned into ones that begin with #."""

import re
from collections.abc import Iterator
from itertools import chain

from holdfast.extract.readers.decoding import decode, lines
from holdfast.extract.readers.embedded_files import EmbeddedFiles
from holdfast.extract.readers.writing import write_all
from holdfast.extract.reading import Progress, Reading, Source

_MOST_LINE_CHARACTERS = 1 << 20
_MOST_FRONT_MATTER_LINES = 500

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_HEADING = re.compile(r" {0,3}#[ \t]+(.*\S)")
# What a paragraph's line cannot begin with: heading, quote, list, table, fence, indented code.
_NO_PARAGRAPH = re.compile(r"(?: {4}|\t| {0,3}(?:#{1,6}[ \t]|>|[-*+][ \t]|\d{1,9}[.)][ \t]|\||`{3,}|~{3,}))")
_FRONT_TITLE = re.compile(r"title[ \t]*:[ \t]*(.+)")


def read_markdown(source: Source, reading: Reading, progress: Progress) -> None:
    """Write the text; its title is the one of its front matter, else its first heading of the first level."""
    reading.extractor = "markdown"
    files = EmbeddedFiles()
    windows = files.leave_out(decode(source, reading, progress))
    written = lines(windows, most_characters=_MOST_LINE_CHARACTERS)
    write_all(_titled(_with_plain_headings(_after_front_matter(written, reading)), reading), reading)
    files.report(reading)


def _titled(written: Iterator[str], reading: Reading) -> Iterator[str]:
    for line in written:
        if reading.title is None and (heading := _HEADING.match(line)):
            reading.title = heading[1].rstrip("# \t") or None
        yield line


def _after_front_matter(written: Iterator[str], reading: Reading) -> Iterator[str]:
    """Write the front matter, if there is one, as a block of code, and return the lines after it."""
    first = next(written, "")
    if first.rstrip() != "---":
        return chain([first], written)
    front: list[str] = []
    for line in written:
        if line.rstrip() in ("---", "..."):
            break
        front.append(line)
        if len(front) == _MOST_FRONT_MATTER_LINES or not line.endswith("\n"):
            return chain([first], front, written)
    else:
        return chain([first], front)
    reading.title = _title_of(front)
    reading.write("".join(["```yaml\n", *front, "```\n"]))
    return written


def _title_of(front: list[str]) -> str | None:
    for line in front:
        if title := _FRONT_TITLE.match(line):
            return title[1].strip().strip("\"'") or None
    return None


def _with_plain_headings(written: Iterator[str]) -> Iterator[str]:
    """Yield the lines; a one-line paragraph underlined with = or - becomes a heading of level one or two."""
    held, begins_paragraph, fence = "", True, ""
    for line in written:
        if held and (underline := _UNDERLINE.match(line)):
            yield f"{'#' if underline[1][0] == '=' else '##'} {held.strip()}\n"
            held, begins_paragraph = "", True
            continue
        yield held
        held, fence = "", _fence_after(line, fence)
        if begins_paragraph and line.strip() and not _NO_PARAGRAPH.match(line):
            held, begins_paragraph = line, False
            continue
        begins_paragraph = not fence and (not line.strip() or bool(_HEADING.match(line)))
        yield line
    yield held


def _fence_after(line: str, fence: str) -> str:
    """Return the fence of the block of code that the next line stands in, or nothing outside of one."""
    found = _FENCE.match(line)
    if not found:
        return fence
    if not fence:
        return found[1]
    closes = found[1].startswith(fence) and line.strip() == found[1]
    return "" if closes else fence
