"""Pictures that are coded into a text are left out and counted, and nothing around them is lost."""

import json
import random
from base64 import b64encode
from pathlib import Path

import pytest

from holdfast.extract.readers.embedded_files import EmbeddedFiles
from holdfast.extract.reading import Reading
from tests.extract.conftest import Extracting

pytestmark = pytest.mark.asyncio(loop_scope="module")

PICTURE = b64encode(random.Random(1).randbytes(30_000)).decode()
WRAPPED = "\n".join(PICTURE[start : start + 76] for start in range(0, len(PICTURE), 76)) + "\n"
URI = f"data:image/png;base64,{PICTURE}"


async def test_pictures_within_markdown_are_left_out_and_counted(extracted: Extracting) -> None:
    written = f"# Tides\n\nBefore ![the chart]({URI}) after.\n\n[moon]: <{URI}>\n\nThe end.\n"

    document = await extracted(written.encode(), "text/markdown")

    assert document.text == "# Tides\n\nBefore ![the chart]() after.\n\n[moon]: <>\n\nThe end.\n"
    assert document.warnings["FILES_OMITTED"].startswith("2 ")


async def test_picture_of_many_megabytes_is_left_out(extracted: Extracting) -> None:
    written = f"Before ![]({URI}{'AbC4' * 2_000_000}==) after.\n"

    assert (await extracted(written.encode(), "text/markdown")).text == "Before ![]() after.\n"


async def test_pictures_within_a_page_are_left_out(extracted: Extracting) -> None:
    page = await extracted(f'<html><p>Before <img alt="a chart" src="{URI}"> after.</p></html>'.encode(), "text/html")

    assert page.text.strip() == "Before a chart after."


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
async def test_it_does_not_matter_how_the_text_is_cut(tmp_path: Path, size: int) -> None:
    written = f"a data: b ({URI}==) c data:image/png;base64,short d {URI} e data:image"
    files = EmbeddedFiles()

    kept = files.leave_out(written[start : start + size] for start in range(0, len(written), size))

    assert "".join(kept) == "a data: b () c data:image/png;base64,short d  e data:image"
    assert files.count == 2


async def test_notebook_keeps_its_words_and_not_its_pictures(extracted: Extracting) -> None:
    outputs = [{"data": {"image/png": PICTURE, "text/plain": "<Figure>"}}, {"data": {"image/jpeg": WRAPPED}}]
    outputs.append({"data": {"image/png": "AAAA" * 1_000}})
    notebook = {"cells": [{"source": [f"![]({URI})", "The tide turns."], "outputs": outputs}], "nbformat": 4}

    document = await extracted(json.dumps(notebook).encode(), "application/json")

    assert "The tide turns." in document.text
    assert "text/plain: <Figure>" in document.text
    assert len(document.text) < 300
    assert document.warnings["FILES_OMITTED"].startswith("4 ")


@pytest.mark.parametrize(
    "value",
    ["GATTACA" * 300, "berth\n" * 300, "0123456789abcdef" * 100, "word " * 300, PICTURE[:900]],
    ids=["genes", "a list", "hexadecimal", "words", "short"],
)
async def test_long_values_that_are_no_files_are_kept(extracted: Extracting, value: str) -> None:
    document = await extracted(json.dumps({"value": value}).encode(), "application/json")

    assert value.strip() in document.text
    assert document.warnings == {}


async def test_lines_of_json_count_their_pictures_together(extracted: Extracting) -> None:
    lines = "\n".join(json.dumps({"berth": berth, "picture": PICTURE}) for berth in ("north", "south"))

    document = await extracted(lines.encode(), "application/x-ndjson")

    assert document.text == "berth: north\n\nberth: south\n\n"
    assert document.warnings["FILES_OMITTED"].startswith("2 ")


async def test_nothing_is_said_where_nothing_was_left_out(tmp_path: Path) -> None:
    reading = Reading(tmp_path)
    EmbeddedFiles().report(reading)
    assert reading.finish()["warnings"] == []
