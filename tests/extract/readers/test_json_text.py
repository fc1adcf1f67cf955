"""JSON becomes lines that say where each value stands, whatever its size, depth or damage."""

import json

import pytest

from holdfast.errors import CorruptInput, EmptyText, TooLarge
from tests.extract.conftest import Extracting
from tests.extract.readers.measured import measure_extraction

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON, LINES = "application/json", "application/x-ndjson"
RECORD = {
    "title": "Bridges",
    "open": True,
    "none": None,
    "empty": "",
    "rate": 1.50,
    "parts": [{"name": "north", "tags": ["old", "stone"]}, {"name": "south", "notes": "two\nlines"}],
    "deep": {"er": {"est": [[1, [2]]]}},
}
RECORD_TEXT = """\
title: Bridges
open: true
none: null
rate: 1.5
parts[0].name: north
parts[0].tags[0]: old
parts[0].tags[1]: stone

parts[1].name: south
parts[1].notes:
two
lines

deep.er.est[0][0]: 1
deep.er.est[0][1][0]: 2

"""


@pytest.mark.parametrize(
    ("data", "media_type"),
    [(json.dumps(RECORD, indent=2), JSON), (json.dumps(RECORD), LINES)],
    ids=["document", "lines"],
)
async def test_values_are_named_by_their_path(extracted: Extracting, data: str, media_type: str) -> None:
    document = await extracted(data.encode(), media_type)

    assert document.text == RECORD_TEXT
    assert document.summary["title"] == "Bridges"


@pytest.mark.parametrize("media_type", [JSON, LINES])
@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r'{"a": "x\u0000y"}', "a: xy\n\n"),
        (r'{"a": "\ud800 alone"}', "a: \ufffd alone\n\n"),
        (r'{"a": "\ud83d\ude00"}', "a: \U0001f600\n\n"),
        ('{"a": 1e400, "b": NaN, "c": -Infinity}', "a: 1e400\nb: NaN\nc: -Infinity\n\n"),
        ('{"a": 1, "a": 2}', "a: 1\na: 2\n\n"),
        ('{"a": ' + "7" * 5_000 + "}", "a: " + "7" * 5_000 + "\n\n"),
        ('["one", "two"]', "[0]: one\n[1]: two\n"),
        ('"alone"', "alone\n"),
    ],
    ids=["nul", "surrogate", "pair", "numbers", "duplicate", "digits", "array", "scalar"],
)
async def test_odd_values_are_kept(extracted: Extracting, media_type: str, written: str, text: str) -> None:
    assert (await extracted(written.encode(), media_type)).text == text


@pytest.mark.parametrize("media_type", [JSON, LINES])
async def test_nesting_of_thousands_is_read(extracted: Extracting, media_type: str) -> None:
    document = await extracted(b"[" * 5_000 + b'"deep"' + b"]" * 5_000, media_type)

    assert document.text.endswith("[0]: deep\n")
    assert len(document.text) < 300


async def test_long_keys_are_shortened(extracted: Extracting) -> None:
    document = await extracted(json.dumps({"k" * 5_000: {"end": "value"}}).encode(), JSON)

    assert document.text.endswith(".end: value\n\n")
    assert len(document.text) < 300


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ('{"a": 1,\n "b": nope}', "line 2, column 7"),
        ('{"a": 1,\n "b": "open', "line 2, column 7: this string is never closed"),
        ('{"a": 1,}', "line 1, column 10: unexpected '}'"),
        ('{"a": 1}\n}', "line 2, column 2: unexpected '}'"),
        ('[1, 2\n"three"]', "line 2, column 8: unexpected 'three'"),
        ('{"a" 1}', "line 1, column 5: unexpected 'a'"),
        ('{"a": 01}', "line 1, column 7: unexpected '01}'"),
        ('["bad \\x"]', "line 1, column 10: a string with an unknown escape"),
        ('{"a": [1, 2', "the document ends although 2 brackets are open"),
        ("[" * 200_000, "nested more than 100,000 deep"),
        ('{"a": ' + "@" * 3_000_000, "line 1, column 7: unexpected"),
    ],
)
async def test_malformed_json_is_refused_with_its_place(extracted: Extracting, written: str, place: str) -> None:
    with pytest.raises(CorruptInput) as raised:
        await extracted(written.encode(), JSON)

    assert place in str(raised.value)
    assert raised.value.error_code == "JSON_MALFORMED"


async def test_place_is_right_behind_many_windows(extracted: Extracting) -> None:
    lines = ",\n".join(["  12345678"] * 300_000)

    with pytest.raises(CorruptInput, match="line 300,001, column 3: unexpected 'oops"):
        await extracted(f"[{lines},\n  oops]".encode(), JSON)


async def test_blank_document_holds_nothing(extracted: Extracting) -> None:
    with pytest.raises(EmptyText):
        await extracted(b" \n ", JSON)


async def test_bad_lines_are_left_out_and_told(extracted: Extracting) -> None:
    document = await extracted(b'{"a": 1}\n\n{bad}\n{"a": 2}\n', LINES)

    assert document.text == "a: 1\n\na: 2\n\n"
    assert document.warnings["LINES_SKIPPED"].startswith("1 of 3 lines were left out; the first is line 3")


async def test_lines_that_are_all_bad_are_refused(extracted: Extracting) -> None:
    with pytest.raises(CorruptInput):
        await extracted(b"{bad\nworse}\n", LINES)


async def test_string_longer_than_a_window_is_whole(extracted: Extracting) -> None:
    long = "word \u00e9 " * 500_000

    assert (await extracted(json.dumps({"text": long}).encode(), JSON)).text == f"text: {long}\n\n"


async def test_huge_document_is_refused_with_advice() -> None:
    with pytest.raises(TooLarge, match=r"one record per line \(\.jsonl\)"):
        await measure_extraction(b"[", JSON, size=200_000_001)


@pytest.mark.parametrize("media_type", [JSON, LINES])
async def test_memory_does_not_grow_with_the_number_of_records(media_type: str) -> None:
    record = json.dumps({"id": 7, "name": "Ada", "text": "words about bridges " * 20})
    data = f"{record}\n" * 30_000 if media_type == LINES else f"[{record}" + f",{record}" * 29_999 + "]"

    summary = await measure_extraction(data.encode(), media_type)

    assert summary["characters"] > 30_000 * 400
    assert summary["growth_mb"] < 25
