"""The context of a chunk as its document's structure gives it: title, headings, where it stands, what precedes."""

import re
from dataclasses import dataclass

from holdfast.standard import Place

NAME_CHARACTERS = 120
DEEPEST_HEADINGS = 4
PRECEDING_CHARACTERS = 200
SPEAKERS = 3
PATH_MARK = " \u203a "

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'\u201d\u2019»)\]]*\s+|(?<=[\u3002\uff01\uff1f])|\n+")


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a chunk stands in its document. `preceding` is the text before it that it continues and does not repeat."""

    title: str
    place: Place
    preceding: str = ""

    @property
    def heading(self) -> str:
        """The title and the headings it stands under, from the outermost."""
        names = [_shortened(name) for name in (self.title, *self.place.heading[-DEEPEST_HEADINGS:])]
        # A document's first heading often is its title.
        return PATH_MARK.join(name for n, name in enumerate(names) if name and name not in names[:n])

    @property
    def context(self) -> str:
        """All of it in words, of bounded length: the same for the same situation."""
        where = "; ".join(_whereabouts(self.place))
        lines = [
            " ".join(part for part in (self.heading, f"({where})" if where else "") if part),
            _last_sentence(self.preceding),
        ]
        return "\n".join(line for line in lines if line)


def _whereabouts(place: Place) -> list[str]:
    """Pages are left out: a number alone tells neither a reader nor a model anything about the text."""
    found = []
    if place.sheets:
        found.append("sheet " + ", ".join(_shortened(name) for name in place.sheets))
    if place.slides:
        found.append("slide " + ", ".join(map(str, place.slides)))
    if place.speakers:
        found.append("speaking: " + ", ".join(_shortened(name) for name in place.speakers[:SPEAKERS]))
    if place.seconds:
        found.append(f"from {_clock(place.seconds[0])}")
    return found


def _clock(seconds: float) -> str:
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def _last_sentence(text: str) -> str:
    """The last one, or its end when it is long, marked as cut."""
    end = text[-4 * PRECEDING_CHARACTERS :].strip()
    if not end:
        return ""
    sentences = [part for part in _SENTENCE_END.split(end) if part.strip()]
    last = " ".join(sentences[-1].split())
    return f"… {last}" if len(last) <= PRECEDING_CHARACTERS else f"… {last[-PRECEDING_CHARACTERS:]}"


def _shortened(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= NAME_CHARACTERS else name[: NAME_CHARACTERS - 1] + "…"
