"""Subtitles: SRT and WebVTT, with voices, and captions that roll read once."""

import html
import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise

from holdfast.errors import CorruptInput
from holdfast.extract.readers.cues import Cue, seconds, write_cues
from holdfast.extract.readers.decoding import decode, lines
from holdfast.extract.reading import Progress, Reading, Source

_TIME = r"(?:\d{1,4}:)?\d{1,2}:\d{1,2}(?:[.,]\d{1,3})?"
_TIMING = re.compile(rf"\s*({_TIME})\s*-->\s*({_TIME})(?:\s.*)?$")
_VOICE = re.compile(r"<v(?:\.[^\s>]{0,100})?\s+([^>]{1,200})>")
_TAG = re.compile(r"</?[a-zA-Z0-9][^<>]{0,200}>|\{\\[^{}]{0,100}\}")
_SPEAKER = re.compile(r"(?:>>\s*)?(?:[-\u2013]\s*)?([^\W\d_][\w .'\u2019-]{0,39}):\s+(?=\S)")
_NOT_CUES = ("WEBVTT", "NOTE", "STYLE", "REGION")
_MOST_LINE_CHARACTERS = 1 << 16
_MOST_CUE_LINES = 500
# Captions that roll follow each other without a gap.
_GAP_SECONDS = 0.25


def read_subtitles(source: Source, reading: Reading, progress: Progress) -> None:
    """Write what is said as paragraphs. Cues that cannot be read are counted and left out.

    Raises CorruptInput if none can be read, EmptyText if there is none.
    """
    reading.extractor = "subtitles"
    reading.has_headings = False
    cues = _Cues(lines(decode(source, reading, progress), most_characters=_MOST_LINE_CHARACTERS))
    try:
        write_cues(_once(cues.read()), reading)
    finally:
        cues.report(source.name, reading)


class _Cues:
    """The cues of a file, and how much of it cannot be read."""

    def __init__(self, written: Iterable[str]) -> None:
        self._written = written
        self._read = 0
        self._malformed = 0
        self._stray_lines = 0

    def read(self) -> Iterator[Cue]:
        """Yield one cue after the other, also where the blank line between them is missing."""
        cue: Cue | None = None
        is_skipping = False
        for line, following in pairwise(chain(self._written, ["\n"])):
            if "-->" in line or line.isspace() or (cue and len(cue.lines) == _MOST_CUE_LINES):
                if cue:
                    yield _voiced(cue)
                cue = self._begin(line) if "-->" in line else None
                is_skipping = cue is None and not line.isspace()
            elif cue is None and line.startswith(_NOT_CUES):
                is_skipping = True
            elif "-->" in following and (cue is None or line.strip().isdigit()):
                continue  # the number or name of the next cue
            elif cue is not None:
                cue = cue.adding(line.strip())
            elif not is_skipping:
                self._stray_lines += 1
        if cue:
            yield _voiced(cue)

    def _begin(self, line: str) -> Cue | None:
        timing = _TIMING.match(line)
        start, end = (seconds(timing[1]), seconds(timing[2])) if timing else (1.0, 0.0)
        if end < start:
            self._malformed += 1
            return None
        self._read += 1
        return Cue(start, end, ())

    def report(self, name: str, reading: Reading) -> None:
        if self._malformed and not self._read:
            raise CorruptInput(f"none of the {self._malformed:,} cues of {name} can be read", error_code="NO_CUES")
        if self._malformed:
            reading.warn("CUES_SKIPPED", f"{self._malformed:,} cues have no readable time and were left out")
        if self._stray_lines:
            reading.warn("LINES_SKIPPED", f"{self._stray_lines:,} lines belong to no cue and were left out")


def _voiced(cue: Cue) -> Cue:
    """The cue without markup, its speaker taken from a voice tag or from `Name:` before the words."""
    text = "\n".join(cue.lines)
    voice = _VOICE.search(text)
    spoken = [html.unescape(_TAG.sub("", line)).strip() for line in text.splitlines()]
    spoken = [line for line in spoken if line]
    named = _SPEAKER.match(spoken[0]) if spoken and not voice else None
    if named:
        spoken[0] = spoken[0][named.end() :]
    speaker = voice[1].strip() if voice else named[1].strip() if named else None
    return Cue(cue.start, cue.end, tuple(spoken), speaker)


def _once(cues: Iterable[Cue]) -> Iterator[Cue]:
    """Yield the cues with only what is new in each: automatic captions repeat what is still on the screen."""
    shown: tuple[str, ...] = ()
    shown_until = float("-inf")
    for cue in cues:
        fresh = _without_shown(cue.lines, shown) if cue.start - shown_until <= _GAP_SECONDS else cue.lines
        shown, shown_until = cue.lines, cue.end
        yield Cue(cue.start, cue.end, fresh, cue.speaker)


def _without_shown(lines: tuple[str, ...], shown: tuple[str, ...]) -> tuple[str, ...]:
    for size in range(min(len(lines), len(shown)), 0, -1):
        if shown[-size:] == lines[:size]:
            return lines[size:]
    if shown and lines and lines[0].startswith(f"{shown[-1]} "):
        return (lines[0][len(shown[-1]) :].strip(), *lines[1:])
    return lines
