"""PDF becomes text whose every passage knows its page."""

from pathlib import Path

import pytest

from holdfast.errors import EmptyText
from tests.extract.conftest import Extracting
from tests.extract.extracting import PDF
from tests.extract.samples import pdf

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGES = [
    ["The lighthouse keeper counts the ships.", "Seven of them carried tin."],
    ["On the second page (the last) the keeper sleeps."],
]


async def test_every_passage_knows_its_page(extracted: Extracting) -> None:
    document = await extracted(pdf(PAGES), PDF)

    assert document.place("Seven of them").pages == (1,)
    assert document.place("the keeper sleeps").pages == (2,)


async def test_page_spans_touch_without_overlap_and_hold_exactly_the_page(extracted: Extracting) -> None:
    document = await extracted(pdf(PAGES), PDF)

    pages = {span.value: document.text[span.start : span.end].strip() for span in document.spans}
    assert pages == {
        1: "The lighthouse keeper counts the ships. Seven of them carried tin.",
        2: "On the second page (the last) the keeper sleeps.",
    }


async def test_pages_without_text_are_counted_and_named(extracted: Extracting) -> None:
    document = await extracted(pdf([PAGES[0], [], PAGES[1]]), PDF)

    assert document.summary["facts"] == {"pages": 3}
    assert "page 2" in document.warnings["PAGES_WITHOUT_TEXT"]
    assert document.place("the keeper sleeps").pages == (3,)


async def test_title_comes_from_the_document(extracted: Extracting) -> None:
    document = await extracted(pdf(PAGES, title="A keeper's log"), PDF)

    assert document.summary["title"] == "A keeper's log"


async def test_line_that_begins_with_a_hash_is_no_heading(extracted: Extracting) -> None:
    document = await extracted(pdf([["# 7 is the number of the buoy in the fairway."]]), PDF)

    assert document.place("buoy").heading == ()


async def test_only_blank_pages_are_empty_text(extracted: Extracting) -> None:
    with pytest.raises(EmptyText, match="no text on its 1 page"):
        await extracted(pdf([[]]), PDF)


async def test_half_of_a_file_is_not_taken_for_the_whole(extracted: Extracting) -> None:
    whole = (Path(__file__).parents[2] / "examples" / "library" / "harbour-handbook.pdf").read_bytes()

    half, complete = await extracted(whole[:3000], PDF), await extracted(whole, PDF)

    assert "tidal gate" not in half.text
    assert "CUT_OFF" in half.warnings
    assert list(complete.warnings) == []
