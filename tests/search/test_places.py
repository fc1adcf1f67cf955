"""Where what was found stands: the page or the minute, not those of the whole passage around it."""

from typing import Any

from holdfast.search.hit import Hit
from holdfast.search.passages import passages_of
from holdfast.search.search import Search
from holdfast.search.showing import place as in_words
from holdfast.standard import Place, Span, SpanKind, SpanValue
from tests.search.library import Library

GEAR = ("anchors", "blocks", "cleats", "davits", "engines", "fenders", "gaffs", "halyards", "irons", "jibs", "keels")
RULES = [
    f"Rule {n}: all {gear} must be greased before the first of April each year. The chief of {gear} signs in the book."
    for n, gear in enumerate(GEAR, 1)
]


def joined(kind: SpanKind, parts: dict[SpanValue, str]) -> tuple[str, list[Span]]:
    """A passage of these parts, and where each of them stands in it."""
    text, spans = "", []
    for value, part in parts.items():
        spans.append(Span(len(text), len(text) + len(part) + 2, kind, value))
        text += f"{part}\n\n"
    return text, spans


def stored(place: Place, spans: list[Span]) -> dict[str, Any]:
    return {**place.to_json(), "spans": [span.to_json() for span in spans]}


async def hit(search: Search, question: str) -> Hit:
    (found,) = (await search.find(question, organisation="acme")).hits
    return found


async def test_the_page_and_the_part_shown_are_those_of_the_answer(library: Library, by_words: Search) -> None:
    text, spans = joined("page", dict(enumerate(RULES, 1)))
    whole = Place(pages=tuple(range(1, 12)), heading=("Rules",))
    await library.add(text, place=stored(whole, spans))
    found = await hit(by_words, "who signs for halyards")
    assert (found.place, found.passage_place) == (Place(pages=(8,), heading=("Rules",)), whole)
    assert RULES[7] in found.text[slice(*found.excerpt)]
    assert len(found.text[slice(*found.excerpt)]) <= 700


async def test_the_minute_is_that_of_the_answer(library: Library, by_words: Search) -> None:
    text, spans = joined("time", {(300.0 * n, 300.0 * n + 8): rule for n, rule in enumerate(RULES)})
    await library.add(text, place=stored(Place(seconds=(0.0, 3008.0)), spans))
    assert in_words((await hit(by_words, "who signs for halyards")).place.to_json()) == "35:00-35:08"


async def test_the_speaker_is_the_one_who_said_it(library: Library, by_words: Search) -> None:
    text, spans = joined("speaker", {"Ada": "The mast is tarred.", "Ben": "The keel is scraped.", "Eve": "Agreed."})
    await library.add(text, place=stored(Place(speakers=("Ada", "Ben", "Eve")), spans))
    assert (await hit(by_words, "scraped keel")).place == Place(speakers=("Ben",))


async def test_words_that_stand_alike_on_several_pages_are_on_all_of_them(library: Library, by_words: Search) -> None:
    text, spans = joined("page", {1: "A heron nests.", 2: "A gull sleeps.", 3: "The heron fishes.", 4: "No heron."})
    await library.add(text, place=stored(Place(pages=(1, 2, 3, 4)), spans))
    assert in_words((await hit(by_words, "heron")).place.to_json()) == "pages 1, 3-4"


async def test_a_passage_found_by_its_heading_has_the_place_of_all_of_it(library: Library, by_words: Search) -> None:
    text, spans = joined("page", {1: "A heron nests.", 2: "A gull sleeps."})
    await library.add(text, heading="Birds", place=stored(Place(pages=(1, 2)), spans))
    assert (await hit(by_words, "birds")).place == Place(pages=(1, 2))


async def test_a_passage_that_does_not_tell_its_pages_apart_is_on_all_of_them(
    library: Library, by_words: Search
) -> None:
    await library.add("A heron nests. A gull sleeps.", place=Place(pages=(1, 2)).to_json())
    assert (await hit(by_words, "gull")).place == Place(pages=(1, 2))


async def test_a_document_is_read_with_the_places_of_whole_passages(library: Library) -> None:
    text, spans = joined("page", {1: "A heron nests.", 2: "A gull sleeps."})
    document_id = await library.add(text, place=stored(Place(pages=(1, 2)), spans))
    (passage,) = await passages_of(library.database, document_id)
    assert passage.place == Place(pages=(1, 2))
