"""A chunk's context says where it stands, in few words."""

import pytest

from holdfast.chunk.context import NAME_CHARACTERS, PRECEDING_CHARACTERS, Situation
from holdfast.standard import Place


def test_title_and_headings_come_first() -> None:
    situation = Situation("Harbour handbook", Place(heading=("Storms", "Mooring")))
    assert situation.context == "Harbour handbook › Storms › Mooring"  # noqa: RUF001


def test_a_heading_that_is_the_title_is_said_once() -> None:
    assert Situation("Storms", Place(heading=("Storms", "Mooring"))).heading == "Storms › Mooring"  # noqa: RUF001


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (Place(sheets=("Fees", "Berths")), "T (sheet Fees, Berths)"),
        (Place(slides=(3, 4)), "T (slide 3, 4)"),
        (Place(speakers=("Ada", "Grace"), seconds=(65.4, 80.0)), "T (speaking: Ada, Grace; from 1:05)"),
        (Place(seconds=(3_725.0, 3_730.0)), "T (from 1:02:05)"),
        (Place(pages=(7,)), "T"),
    ],
)
def test_sheet_slide_speaker_and_time_are_put_into_words(place: Place, words: str) -> None:
    assert Situation("T", place).context == words


@pytest.mark.parametrize(
    ("preceding", "sentence"),
    [
        ("The tide rose. The lines were doubled.", "… The lines were doubled."),
        ("First line\nsecond line", "… second line"),
        ("潮が満ちた。綱を二重にした。", "… 綱を二重にした。"),
        ("  \n ", ""),
    ],
)
def test_the_last_sentence_before_it_is_quoted(preceding: str, sentence: str) -> None:
    assert Situation("", Place(), preceding).context == sentence


def test_context_is_bounded_whatever_the_document_says() -> None:
    long = "x" * 100_000
    context = Situation(long, Place(heading=(long,) * 50, sheets=(long,), speakers=(long,) * 50), long).context
    assert len(context) < 10 * NAME_CHARACTERS + PRECEDING_CHARACTERS
