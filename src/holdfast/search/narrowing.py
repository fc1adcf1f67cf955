"""Narrows the place of a passage to that of what was found in it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from holdfast.search.excerpt import Stretch
from holdfast.standard import Place, Spans

Value = TypeVar("Value")


def narrowed(whole: Place, spans: Spans, found: Sequence[Stretch]) -> Place:
    """Where these stretches of a passage stand, as far as its spans tell them from the rest. Its heading stays."""
    places = [spans.place(stretch.start, stretch.end) for stretch in found]
    seconds = [place.seconds for place in places if place.seconds]
    return replace(
        whole,
        pages=_each(place.pages for place in places) or whole.pages,
        slides=_each(place.slides for place in places) or whole.slides,
        sheets=_each(place.sheets for place in places) or whole.sheets,
        seconds=(seconds[0][0], max(until for _, until in seconds)) if seconds else whole.seconds,
        speakers=_each(place.speakers for place in places) or whole.speakers,
    )


def _each(values: Iterable[tuple[Value, ...]]) -> tuple[Value, ...]:
    return tuple(dict.fromkeys(value for some in values for value in some))
