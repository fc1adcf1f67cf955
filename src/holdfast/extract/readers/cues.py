"""What was said when and by whom, written as paragraphs whose times and speakers are kept."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from holdfast.errors import EmptyText
from holdfast.extract.reading import Reading

# A pause this long begins a paragraph, and so does the end of a sentence beyond this length.
_PAUSE_SECONDS = 4.0
_PARAGRAPH_CHARACTERS = 600
_SENTENCE_ENDS = (".", "!", "?", "\u2026", "\u3002", "\uff1f", "\uff01")


@dataclass(frozen=True, slots=True)
class Cue:
    """One caption or turn. Times are seconds from the beginning."""

    start: float
    end: float
    lines: tuple[str, ...]
    speaker: str | None = None

    def adding(self, line: str) -> Self:
        """The same with one more line."""
        return replace(self, lines=(*self.lines, line))

    def until(self, end: float) -> Self:
        """The same, lasting until then."""
        return replace(self, end=max(self.start, end))


def seconds(time: str) -> float:
    """Return how many seconds `1:02:03,5`, `02:03.500` or `2:03` is."""
    total = 0.0
    for part in time.replace(",", ".").split(":"):
        total = total * 60 + float(part)
    return round(total, 3)


def write_cues(cues: Iterable[Cue], reading: Reading) -> None:
    """Write paragraphs, with a `time` span for each cue and a `speaker` span for each turn.

    Raises EmptyText if nothing is said.
    """
    previous: Cue | None = None
    length = 0
    for cue in cues:
        text = " ".join(" ".join(cue.lines).split())
        if not text:
            continue
        if _begins_paragraph(cue, previous, length):
            _begin_paragraph(cue, previous, reading)
            length = 0
        with reading.span("time", (cue.start, cue.end)):
            reading.write(text if length == 0 else f" {text}")
        length = 0 if text.endswith(_SENTENCE_ENDS) and length > _PARAGRAPH_CHARACTERS else length + len(text)
        previous = cue
    if previous is None:
        raise EmptyText("the captions hold no words", error_code="NO_WORDS")
    reading.write("\n")


def _begins_paragraph(cue: Cue, previous: Cue | None, length: int) -> bool:
    if previous is None or length == 0 or cue.speaker != previous.speaker:
        return True
    return cue.start - previous.end > _PAUSE_SECONDS


def _begin_paragraph(cue: Cue, previous: Cue | None, reading: Reading) -> None:
    if previous is not None:
        reading.write("\n\n")
    if previous is not None and cue.speaker == previous.speaker:
        return
    reading.close("speaker")
    if cue.speaker:
        reading.mark("speaker", cue.speaker)
        reading.write(f"**{cue.speaker}:** ")
