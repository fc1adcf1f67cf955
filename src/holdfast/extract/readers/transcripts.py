"""Transcripts written as text: lines that begin with a time, and who speaks."""

import re
from collections.abc import Iterable, Iterator

from holdfast.extract.readers.cues import Cue, seconds, write_cues
from holdfast.extract.readers.decoding import lines
from holdfast.extract.reading import Reading

_TIME = r"(?:\d{1,2}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?"
_NAME = r"[^\W\d_][^:\[\]()<>]{0,59}?"
# "[00:01:02] Ada: text", "00:01:02 Ada", "(1:02) text" or "00:01:02 - 00:01:09 Ada: text"
_TIME_FIRST = re.compile(
    rf"[\[(]?(?P<time>{_TIME})(?:\s*(?:-->|[-\u2013\u2014])\s*{_TIME})?[\])]?(?:\s+|\s*[-\u2013\u2014:|]\s*|$)"
    rf"(?:(?P<speaker>{_NAME}):(?:\s+|$))?(?P<text>.*)"
)
# "Ada Lovelace  0:12" or "Ada Lovelace (00:12):" on a line of its own
_NAME_FIRST = re.compile(rf"(?P<speaker>{_NAME})\s+[\[(]?(?P<time>{_TIME})[\])]?:?$")
# A line with a time and nothing but these words is the head of what follows, and they are a name.
_BARE_NAME = re.compile(r"[^\W\d_][^.,;:!?]{0,39}$")

_MOST_LINE_CHARACTERS = 1 << 20
_MOST_TURN_LINES = 500
_LEAST_TURNS = 3
_SAMPLE_CHARACTERS = 50_000
_HEADS_SHARE = 0.3


def looks_like_transcript(text: str) -> bool:
    """Whether enough lines begin a turn, at times that never go back."""
    sample = [line.strip() for line in text[:_SAMPLE_CHARACTERS].splitlines() if line.strip()]
    heads = [head for line in sample if len(line) < _SAMPLE_CHARACTERS and (head := _head(line))]
    times = [seconds(head["time"]) for head in heads]
    return len(heads) >= max(_LEAST_TURNS, _HEADS_SHARE * len(sample)) and times == sorted(times)


def write_transcript(windows: Iterable[str], reading: Reading) -> None:
    """Write the turns as paragraphs, with the time and speaker of each."""
    reading.extractor = "transcript"
    write_cues(_ending_at_the_next(_turns(lines(windows, most_characters=_MOST_LINE_CHARACTERS), reading)), reading)


def _turns(written: Iterable[str], reading: Reading) -> Iterator[Cue]:
    turn: Cue | None = None
    for line in map(str.strip, written):
        if head := _head(line):
            if turn:
                yield turn
            turn = _begin(head)
        elif turn and line:
            if len(turn.lines) == _MOST_TURN_LINES:
                yield turn
                turn = Cue(turn.start, turn.start, (), turn.speaker)
            turn = turn.adding(line)
        elif line:
            # What stands before the first turn is about the meeting: its title, its date, who was there.
            reading.write(line + "\n\n")
    if turn:
        yield turn


def _head(line: str) -> re.Match[str] | None:
    return _TIME_FIRST.match(line) or _NAME_FIRST.match(line)


def _begin(head: re.Match[str]) -> Cue:
    found = head.groupdict()
    start, speaker, text = seconds(found["time"]), found["speaker"], found.get("text") or ""
    if speaker is None and _BARE_NAME.match(text):
        speaker, text = text, ""
    return Cue(start, start, (text,) if text else (), speaker)


def _ending_at_the_next(turns: Iterable[Cue]) -> Iterator[Cue]:
    """Yield the turns, each lasting until the next begins; how long the last one took is not known."""
    held: Cue | None = None
    for turn in turns:
        if held:
            yield held.until(turn.start)
        held = turn
    if held:
        yield held
