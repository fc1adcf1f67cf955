"""HTML becomes its main text, in whatever encoding the page was written."""

import pytest

from holdfast.errors import EmptyText
from tests.extract.conftest import Extracting
from tests.extract.sentences import SENTENCES

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
    assert "cp1252" in page.warnings["ENCODING_GUESSED"]


@pytest.mark.parametrize(
    ("language", "charset"),
    [("Russian", "windows-1251"), ("Russian", "koi8-r"), ("Japanese", "Shift_JIS"), ("Polish", "iso-8859-2")],
)
async def test_charset_of_the_server_is_believed(extracted: Extracting, language: str, charset: str) -> None:
    page = await extracted(foreign(language).encode(charset), "text/html", charsets=[charset])

    assert SENTENCES[language].strip() in page.text
    assert page.warnings == {}


@pytest.mark.parametrize(
    ("language", "charset"), [("Russian", "cp1251"), ("Japanese", "shift_jis"), ("Chinese", "gbk")]
)
async def test_undeclared_script_is_guessed_as_in_plain_text(
    extracted: Extracting, language: str, charset: str
) -> None:
    page = await extracted(foreign(language).encode(charset), "text/html")

    assert SENTENCES[language].strip() in page.text
    assert list(page.warnings) == ["ENCODING_GUESSED"]


async def test_server_is_believed_before_the_page_and_a_mark_before_both(extracted: Extracting) -> None:
    page = PAGE.replace("—", "-").format(charset="iso-8859-2")
    served = await extracted(page.encode("cp1252"), "text/html", charsets=["windows-1252"])
    marked = await extracted(page.encode("utf-8-sig"), "text/html", charsets=["windows-1251"])

    assert "à la main" in served.text
    assert "à la main" in marked.text


@pytest.mark.parametrize("charset", ["no-such-charset", "rot13", "utf-7", "utf-16", "utf-8"])
async def test_charset_that_does_not_fit_gives_way_with_a_warning(extracted: Extracting, charset: str) -> None:
    page = PAGE.replace("—", "-").format(charset="windows-1252").encode("cp1252")

    document = await extracted(page, "text/html", charsets=[charset])

    assert "à la main" in document.text
    assert charset in document.warnings["CHARSET_MISTAKEN"]


def foreign(language: str) -> str:
    return f"<html><head><title>x</title></head><body><main><p>{SENTENCES[language]}</p></main></body></html>"


async def test_page_of_nothing_but_tags_is_empty_text(extracted: Extracting) -> None:
    with pytest.raises(EmptyText):
        await extracted(b"<html><body><div></div><script>draw()</script></body></html>", "text/html")
