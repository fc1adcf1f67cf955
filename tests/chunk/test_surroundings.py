"""What a model is shown of a document holds the passage, begins with the opening, and is bounded."""

import pytest

from holdfast.chunk.surroundings import MARGIN_CHARACTERS, OPENING_CHARACTERS, Surroundings
from tests.chunk.texts import in_blocks, long_text

TEXT = long_text(60_000, seed=5)


@pytest.mark.parametrize("block", [700, 100_000])
def test_a_passage_at_any_place_is_shown_whole(block: int) -> None:
    surroundings = Surroundings(in_blocks(TEXT, block), 10_000)
    for start in range(0, len(TEXT), 1_234):
        assert TEXT[start : start + 2_000] in surroundings.around(start).shown


def test_parts_do_not_depend_on_how_the_text_is_handed_over() -> None:
    ways = [Surroundings(in_blocks(TEXT, block), 10_000) for block in (1, 999, 100_000)]
    for start in range(0, len(TEXT), 3_000):
        assert len({way.around(start) for way in ways}) == 1


def test_what_is_shown_is_bounded_and_begins_with_the_opening() -> None:
    part = Surroundings(in_blocks(TEXT, 5_000), 10_000).around(30_000)
    assert part.shown.startswith(TEXT[:OPENING_CHARACTERS])
    assert len(part.shown) < 10_000 + OPENING_CHARACTERS + 2 * MARGIN_CHARACTERS


def test_a_document_that_fits_is_shown_as_it_is() -> None:
    assert Surroundings([TEXT], 60_000).around(100).shown == TEXT
