"""Search: passages that answer a question, where each stands, and what they speak of."""

from pathlib import Path
from typing import TypeAlias

import httpx2
from playwright.async_api import Page, expect

from holdfast.dashboard.markup import join
from holdfast.dashboard.pages.search import answer
from holdfast.dashboard.searching.passages import highlighted, passages
from holdfast.dashboard.searching.surroundings import LONGEST_NAME, picture
from holdfast.graph.neighbourhood import Neighbour, Spoken
from holdfast.search.hit import Found, Hit, Why
from holdfast.standard import Place
from holdfast.testing import HANG, StandIn
from tests.dashboard.conftest import Dashboard, dashboard_of, embedding_by
from tests.dashboard.sending import PATIENCE_SECONDS, finished, upload

GATE = """# The tidal gate

Mira Olsen opens the gate of Kelp Point at three metres of water. Mira Olsen closes it at two.
"""
BREAD = "# Bread\n\nThe bakery on the quay opens at six, <b>never</b> before."

Range: TypeAlias = tuple[int, int]


async def test_a_question_is_answered_with_passages_and_what_they_speak_of(dashboard: Dashboard, page: Page) -> None:
    for job in [await upload(dashboard, "gate.md", GATE), await upload(dashboard, "bread.md", BREAD)]:
        await finished(dashboard, job)
    await page.goto("/search")
    await expect(page.get_by_text("Ask in your own words.")).to_be_visible()

    await page.keyboard.press("/")
    await page.keyboard.type("when does the tidal gate open")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/search?q=when+does+the+tidal+gate+open")
    best = page.locator(".passages > li").first
    await expect(best.get_by_role("link", name="The tidal gate")).to_be_visible()
    await expect(best.locator("mark").first).to_have_text("tidal")
    await expect(best.locator(".why")).to_contain_text("found by words #1 (tidal, gate, open) and meaning #1")
    await expect(best.locator(".why")).to_contain_text("gate.md, from ")
    await expect(page.locator("aside").get_by_text("Mira Olsen").first).to_be_visible()

    await page.get_by_label("Source name").fill("bread.md")
    await page.get_by_role("button", name="Search").click()
    await page.wait_for_url("**&name=bread.md")
    await expect(page.locator("blockquote")).to_contain_text("opens at six, <b>never</b> before.")

    await page.get_by_label("Metadata").fill("no pair")
    await page.get_by_role("button", name="Search").click()
    await expect(page.get_by_role("alert")).to_have_text('"no pair" is no metadata: write it as key=value')

    await page.goto("/search?q=zebra&organisation=acme")
    await expect(page.get_by_text("Nothing of acme answers this.")).to_be_visible()
    await page.goto("/documents/404404")
    await expect(page.get_by_role("alert")).to_contain_text("there is no document 404404")


async def test_words_answer_on_the_page_while_the_embedder_is_silent(
    ready_holdfast: Path, dsn: str, tmp_path: Path
) -> None:
    async with (
        StandIn() as provider,
        dashboard_of(ready_holdfast, dsn, tmp_path, **embedding_by(provider)) as dashboard,
        httpx2.AsyncClient(base_url=dashboard.url, timeout=PATIENCE_SECONDS) as client,
    ):
        await finished(dashboard, await upload(dashboard, "gate.md", GATE))
        provider.refuses = lambda _: HANG
        answer = await client.get("/search?q=tidal+gate")
    assert answer.status_code == 200
    assert "found by words alone: the embedder did not answer within 5 seconds" in answer.text
    assert "Mira Olsen opens" in answer.text


def a_hit(text: str, *, said: str = "said", highlights: tuple[Range, ...] = (), excerpt: Range | None = None) -> Hit:
    """A passage whose document calls everything by one name."""
    return Hit(
        document_id=7,
        ordinal=0,
        chunk_id="c",
        title=said,
        source_name=said,
        source_platform=said,
        source_location=None,
        metadata={},
        place=Place(),
        passage_place=Place(),
        text=text,
        context=said,
        score=1.0,
        why=Why(words_rank=1, words_score=1.0, matched_words=(said,), vector_rank=None, similarity=None),
        highlights=highlights,
        excerpt=excerpt or (0, len(text)),
    )


def test_what_a_document_calls_itself_is_shown_as_text() -> None:
    script = "<script>alert(1)</script>"

    drawn = passages([a_hit(script, said=script)])

    assert "<script" not in drawn
    assert '<a href="/documents/7">&lt;script&gt;alert(1)&lt;/script&gt;</a>' in drawn


def test_an_embedder_that_does_not_answer_is_told() -> None:
    drawn = answer(Found((), "words", ("found by words alone: <no answer>",)), [], whose="acme")

    assert 'role="status">found by words alone: &lt;no answer&gt;</p>' in drawn
    assert "Nothing of acme answers this." in drawn


def test_the_part_worth_reading_is_marked_and_the_rest_left_out() -> None:
    text = "a " * 600 + "<i>gate</i>" + " b" * 600
    start = text.index("gate")

    drawn = join(highlighted(a_hit(text, highlights=((start, start + 4),), excerpt=(start - 100, start + 100))))

    assert "&lt;i&gt;<mark>gate</mark>&lt;/i&gt;" in drawn
    assert drawn.startswith("…")
    assert drawn.endswith("…")
    assert len(drawn) < len(text)


def test_a_picture_joins_what_stands_together_and_cuts_long_names() -> None:
    near = Neighbour("name", "<b>" + "x" * 40, "mentioned_with", True, "patterns", 2, 1, 0)

    drawn = picture([Spoken("name", "Mira Olsen", 1, (near,)), Spoken("name", "Kelp Point", 1, (near,))])

    assert drawn.count("<path") == 2
    assert "&lt;b&gt;" + "x" * (LONGEST_NAME - 4) + "…" in drawn
