"""Markdown stays as it is, and its headings are found however they are written."""

import pytest

from tests.extract.conftest import Extracting
from tests.extract.readers.measured import measure_extraction

pytestmark = pytest.mark.asyncio(loop_scope="module")

MARKDOWN = "text/markdown"


async def test_headings_of_both_kinds_become_paths(extracted: Extracting) -> None:
    data = b"Harbour\n=======\n\nBoats enter.\n\nFees\n----\n\nTwo coins.\n\n### Winter\n\nOne coin.\n"

    document = await extracted(data, MARKDOWN)

    assert document.text.startswith("# Harbour\n\nBoats enter.\n\n## Fees\n")
    assert document.place("One coin").heading == ("Harbour", "Fees", "Winter")
    assert document.summary["title"] == "Harbour"


async def test_front_matter_names_the_title_and_is_kept(extracted: Extracting) -> None:
    data = b'---\ntitle: "Rules of the pier"\n# draft\ntags: [pier]\n---\n# First\n\nWords.\n'

    document = await extracted(data, MARKDOWN)

    assert document.summary["title"] == "Rules of the pier"
    assert "tags: [pier]" in document.text
    assert document.place("Words").heading == ("First",)


@pytest.mark.parametrize(
    "written",
    [
        "A paragraph\nof two lines\n---\n\nafter the rule\n",
        "```\ntable\n---\n# comment\n```\n",
        "- item\n---\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "> quote\n---\n",
        "    indented\n---\n",
        "---\nno end of the front matter\n",
        "~~~\n```\nA\n---\n~~~\n",
        "words without a last newline",
    ],
)
async def test_what_is_no_heading_stays(extracted: Extracting, written: str) -> None:
    assert (await extracted(written.encode(), MARKDOWN)).text == written


async def test_line_of_signs_costs_little_time(extracted: Extracting) -> None:
    written = "# " + "# " * 400_000 + "x\n"

    assert (await extracted(written.encode(), MARKDOWN)).text == written


async def test_long_line_passes_in_little_memory() -> None:
    data = b"# Title\n\n" + b"x" * 30_000_000

    summary = await measure_extraction(data, MARKDOWN)

    assert summary["characters"] == len(data)
    assert summary["growth_mb"] < 40
