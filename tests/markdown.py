"""Reads the documentation as a reader does: code to run, and the output that is said to come back."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^```(?P<language>\w+)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\((?!\w+:)(?P<path>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of code. `line` is where its text begins, for messages."""

    language: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Command:
    """What a reader types after the prompt, and what the page says it prints; None: the page does not say."""

    text: str
    output: str | None


def blocks(page: Path) -> list[Block]:
    """Every fenced block with a language, in order."""
    text = page.read_text()
    found = _FENCE.finditer(text)
    return [Block(m["language"], m["text"], text.count("\n", 0, m.start()) + 2) for m in found]


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block: `$ ` begins one, `> ` goes on with it, all else is output."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        first, *rest = part.splitlines()
        typed = [first]
        while rest and rest[0].startswith("> "):
            typed.append(rest.pop(0).removeprefix("> "))
        yield Command("\n".join(typed), "\n".join(rest) if any(rest) else None)


def says(expected: str, printed: str) -> bool:
    """Whether the page tells the truth. `…` stands for anything in a line, alone for any lines; widths matter not."""
    pattern = "".join(map(_line_pattern, _tidy(expected)))
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _tidy(printed))) is not None


def links(page: Path) -> Iterator[tuple[str, str | None]]:
    """Links to other pages and to headings: path and anchor."""
    for match in _LINK.finditer(page.read_text()):
        yield match["path"], match["anchor"]


def anchors(page: Path) -> set[str]:
    """What can be linked to in a page."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _line_pattern(line: str) -> str:
    if line == "…":
        return r"(?:[^\n]*\n)*?"
    return r"[^\n]*?".join(re.escape(part) for part in re.split(r" ?… ?", line)) + r"\n"


def _tidy(text: str) -> list[str]:
    lines = (re.sub(r"-[-+]+-", "---", re.sub(r"\s+", " ", line)).strip() for line in text.splitlines())
    return [line for line in lines if line]
