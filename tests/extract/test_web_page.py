"""HTML becomes its main text, in whatever encoding the page was written."""

import pytest

from holdfast.errors import EmptyText
from tests.extract.conftest import Extracting

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGE = """<html><head><meta charset="{charset}"><title>Rope &amp; tar</title><script>steal()</script>
<style>p {{ color: red }}</style></head><body><main><h1>The ropewalk</h1><h2>Spinning</h2>
<p>Hemp is spun in the <a href="https://example.org/long">long hall</a> — à la main.</p>
<ul><li>walk backwards</li></ul><table><tr><th>yarn</th></tr><tr><td>hemp</td></tr></table>
<img alt="A spinner at work" src="data:image/png;base64,iVBORw0KGgo"></main></body></html>"""


async def test_page_keeps_headings_links_lists_tables_and_its_title(extracted: Extracting) -> None:
    page = await extracted(PAGE.format(charset="utf-8").encode(), "text/html")

    assert page.summary["title"] == "Rope & tar"
    assert page.place("Hemp is spun").heading == ("The ropewalk", "Spinning")
    assert "[long hall](https://example.org/long)" in page.text
    assert "- walk backwards" in page.text
    assert "| hemp |" in page.text
    assert "A spinner at work" in page.text


async def test_scripts_styles_and_inline_pictures_are_left_out(extracted: Extracting) -> None:
    page = await extracted(PAGE.format(charset="utf-8").encode(), "text/html")

    assert not [word for word in ("steal", "color", "base64", "title:") if word in page.text]


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-15", "windows-1252", "utf-16"])
async def test_declared_encoding_is_believed(extracted: Extracting, charset: str) -> None:
    page = await extracted(PAGE.replace("—", "-").format(charset=charset).encode(charset), "text/html")

    assert "à la main" in page.text


async def test_undeclared_legacy_encoding_is_guessed_and_said(extracted: Extracting) -> None:
    page = await extracted("<p>Le café ouvre à six heures.</p>".encode("cp1252"), "text/html")

    assert "café ouvre à six" in page.text
    assert "Windows-1252" in page.warnings["ENCODING_GUESSED"]


async def test_page_of_nothing_but_tags_is_empty_text(extracted: Extracting) -> None:
    with pytest.raises(EmptyText):
        await extracted(b"<html><body><div></div><script>draw()</script></body></html>", "text/html")
