"""What readers write is clean, exactly measured, and under its headings."""

import json
from pathlib import Path

import pytest

from holdfast.errors import TooLarge
from holdfast.extract.child import load_reader
from holdfast.extract.headings import find_headings
from holdfast.extract.reading import Reading
from holdfast.extract.routes import READERS
from holdfast.standard import Span
from tests.extract.extracting import read_spans


def headings_of(tmp_path: Path, text: str) -> list[tuple[str, tuple[str, ...]]]:
    """What stands under which headings."""
    path = tmp_path / "text.md"
    path.write_text(text)
    return [(text[span.start : span.end], span.value) for span in find_headings(path)]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("pieces", "written"),
    [
        (["a\0b"], "ab"),
        (["a\r\nb\rc"], "a\nb\nc"),
        (["a\r", "\nb"], "a\nb"),
        (["a\r", "", "\nb"], "a\nb"),
        (["a\r", "b"], "a\nb"),
        (["\ud83d\ude00"], "\U0001f600"),
        (["\ud83d alone"], "\ufffd alone"),
        (["Vie\u0302\u0323t Nam"], "Vi\u1ec7t Nam"),
        (["Vie", "\u0302", "\u0323t Nam"], "Vi\u1ec7t Nam"),
        (["\u1112", "\u1161", "\u11ab"], "\ud55c"),
        (["a", "\u0301" * 200], "\u00e1" + "\u0301" * 199),
    ],
)
def test_text_is_cleaned_and_counted(tmp_path: Path, pieces: list[str], written: str) -> None:
    reading = Reading(tmp_path)
    for piece in pieces:
        reading.write(piece)
    summary = reading.finish()

    assert (tmp_path / "text.md").read_text() == written
    assert summary["characters"] == len(written)


def test_spans_count_characters_and_close_each_other(tmp_path: Path) -> None:
    reading = Reading(tmp_path)
    reading.mark("page", 1)
    reading.write("é€😀\r\n")
    reading.mark("page", 2)
    reading.mark("page", 3)
    reading.write("x")
    reading.finish()

    assert list(read_spans(tmp_path / "spans.json")) == [Span(0, 4, "page", 1), Span(4, 5, "page", 3)]


def test_spans_count_composed_characters(tmp_path: Path) -> None:
    reading = Reading(tmp_path)
    reading.mark("page", 1)
    reading.write("e")
    reading.write("\u0301")
    reading.mark("page", 2)
    reading.write("e\u0301a")
    reading.finish()

    assert (tmp_path / "text.md").read_text() == "\u00e9\u00e9a"
    assert list(read_spans(tmp_path / "spans.json")) == [Span(0, 1, "page", 1), Span(1, 3, "page", 2)]


def test_document_without_spans_has_an_empty_list_of_them(tmp_path: Path) -> None:
    Reading(tmp_path).finish()

    assert json.loads((tmp_path / "spans.json").read_text()) == []


def test_names_in_spans_can_be_stored(tmp_path: Path) -> None:
    reading = Reading(tmp_path)
    with reading.span("sheet", "Q\0 \ud800"):
        reading.write("x")
    reading.finish()

    assert list(read_spans(tmp_path / "spans.json")) == [Span(0, 1, "sheet", "Q \ufffd")]


def test_text_over_its_limit_is_refused_at_once(tmp_path: Path) -> None:
    reading = Reading(tmp_path, most_characters=10)
    reading.write("0123456789")

    with pytest.raises(TooLarge, match="at least 11 characters, 10 are allowed"):
        reading.write("0")


def test_many_warnings_are_counted_instead_of_kept(tmp_path: Path) -> None:
    reading = Reading(tmp_path)
    for number in range(60):
        reading.warn("ROW", f"row {number}")

    warnings = reading.finish()["warnings"]

    assert len(warnings) == 51
    assert warnings[-1] == {"code": "WARNINGS_OMITTED", "message": "10 more warnings"}


def test_passages_know_the_path_of_their_headings(tmp_path: Path) -> None:
    text = "before\n# A\none\n## B\ntwo\n### C ###\n## D\\#\nthree\n# E\n"

    assert headings_of(tmp_path, text) == [
        ("# A\none\n", ("A",)),
        ("## B\ntwo\n", ("A", "B")),
        ("### C ###\n", ("A", "B", "C")),
        ("## D\\#\nthree\n", ("A", "D#")),
        ("# E\n", ("E",)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "```\n# comment\n```\n",
        "~~~sh\n# a\n```\n# b\n~~~\n",
        "#hashtag\n",
        "    # code\n",
        "#\n",
        "x" * 20_000 + "# no\n",
    ],
)
def test_hashes_that_are_no_headings_are_left_alone(tmp_path: Path, text: str) -> None:
    assert headings_of(tmp_path, text) == []


def test_code_ends_where_its_fence_does(tmp_path: Path) -> None:
    text = "````\n# in\n```\n# still in\n````\n# out\n"

    assert headings_of(tmp_path, text) == [("# out\n", ("out",))]


@pytest.mark.parametrize("name", sorted(set(READERS.values())))
def test_every_route_leads_to_a_reader(name: str) -> None:
    assert callable(load_reader(name))
