"""Names as they stand in a text: runs of words with a capital, which is there for no other reason."""

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass

from holdfast.graph.words import (
    CAPITAL_WORDS,
    CONNECTORS,
    ORGANISATION_BEGINNINGS,
    ORGANISATION_ENDINGS,
    PLAIN_WORDS,
    SMALL_WORDS,
)

_CAPITALS = "".join(c for c in map(chr, range(0x2000)) if c.isupper())
_WORD = rf"[{_CAPITALS}](?<!\w.)[\w'’-]{{0,62}}"  # noqa: RUF001
_DOT = r"(?:(?:(?<=[\W_][A-Z])|(?<=Dr)|(?<=Mr)|(?<=Mrs)|(?<=Ms)|(?<=Prof)|(?<=St))\.)?"
_ENDING = r"(?:,(?= (?:Inc|Ltd|LLC|GmbH|Corp)\b))?"
_RUN = re.compile(rf"{_WORD}(?:{_DOT}{_ENDING} (?:(?:{'|'.join(CONNECTORS)}) )?{_WORD}){{0,5}}")
_LOWER_WORD = re.compile(r"\b[^\W\d_A-Z][^\W\d_]{3}")
_OPENERS = " \"'“‘«([_*"  # noqa: RUF001
_SENTENCE_ENDS = frozenset(".!?:;\n|>#-•…")
# Where every sixth word stands alone with its capital, as in German, capitals alone say nothing.
_TELLING_SHARE = 6
_NO_NAMES = SMALL_WORDS | PLAIN_WORDS | CAPITAL_WORDS


@dataclass(frozen=True, slots=True)
class Run:
    """Words with capitals, side by side, and where they begin; `opens` says that a sentence begins with them."""

    text: str
    start: int
    opens: bool

    @property
    def alone(self) -> bool:
        return " " not in self.text

    def without_first(self) -> "Run":
        """The words behind the first one, which stand inside their sentence."""
        rest = self.text.partition(" ")[2]
        return Run(rest, self.start + len(self.text) - len(rest), opens=False)


def find_names(text: str) -> list[tuple[str, str, int]]:
    """Kind, name and beginning of each mention, in order."""
    text = _without_titles(text)
    runs = list(_runs(text))
    inside = [run.text for run in runs if not run.opens]
    opening = [run.text for run in runs if run.opens]
    known = {word for name in inside for word in name.split(" ")}
    alone_tells = sum(" " not in name for name in inside) * _TELLING_SHARE <= text.count(" ") + 1
    # Looked for only where a run needs it, for it takes its time.
    elsewhere = {*inside, *filter(str.islower, text.split())} if any(" " in name for name in opening) else set()
    found = []
    for run in runs:
        if run.opens:
            if run.alone and run.text not in known:
                continue
            run = _settled(run, elsewhere)
        name = run.text if run.alone else _cut(run.text)
        if " " in name or (alone_tells and _tells(name)):
            found.append((_kind(name), name, run.start))
    return found


def _runs(text: str) -> Iterator[Run]:
    """Without words that only lead to them, and without those that are nothing else."""
    for match in _RUN.finditer(text):
        name, start = match[0], match.start()
        if " " not in name:
            if _tells(name):
                yield Run(name, start, _opens_sentence(text, start))
            continue
        run = Run(name, start, _opens_sentence(text, start))
        while not run.alone:
            first = run.text.partition(" ")[0].lower()
            if not (first in SMALL_WORDS or (run.opens and first in PLAIN_WORDS)):
                break
            run = run.without_first()
        yield run


def _settled(run: Run, elsewhere: Set[str]) -> Run:
    """The run without a first word that has its capital only from the sentence it opens."""
    first, _, rest = run.text.partition(" ")
    return run.without_first() if rest and (rest in elsewhere or first.lower() in elsewhere) else run


def _cut(name: str) -> str:
    """A name up to a small word with a capital: there another sentence or a title begins."""
    words = name.split(" ")
    end = next((n for n, word in enumerate(words) if word[0].isupper() and word.lower() in SMALL_WORDS), len(words))
    while end > 1 and not words[end - 1][0].isupper():
        end -= 1
    return " ".join(words[:end]).rstrip(".,")


def _tells(word: str) -> bool:
    """Whether a word alone can be a name."""
    return len(word) > 2 and word.lower() not in _NO_NAMES


def _kind(name: str) -> str:
    first, _, rest = name.lower().partition(" ")
    if rest and (rest.rpartition(" ")[2] in ORGANISATION_ENDINGS or first in ORGANISATION_BEGINNINGS):
        return "organisation"
    return "name"


def _opens_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - 4) : start].rstrip(_OPENERS)
    return not before or before[-1] in _SENTENCE_ENDS


def _without_titles(text: str) -> str:
    """The text, blank where a line of capitals or a heading with capitals throughout would make names of anything."""
    lines = text.split("\n")
    return "\n".join(" " * len(line) if _is_title(line) else line for line in lines)


def _is_title(line: str) -> bool:
    if line.startswith("#"):
        return not _LOWER_WORD.search(line)
    return line.isupper() and " " in line.strip()
