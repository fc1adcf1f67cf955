"""Articles, and the stories that a language model tells of them: what comes out, and what it costs."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import open_app
from holdfast.engine.attempt import Attempt, Document
from holdfast.errors import InvalidInput
from holdfast.settings import Settings
from holdfast.testing import absurd_usage
from tests.conftest import Clock
from tests.stories.newsroom import ARTICLE, TOLD, Newsroom, asked, newsroom


async def test_article_becomes_a_story_with_every_field(room: Newsroom) -> None:
    taken = await room.take_in()
    await room.work()
    story = await room.app.story(taken.document_id or 0)
    plain = ("summary_neutral", "summary_spicy", "category", "severity", "primary_actor", "top_entities")
    assert {name: getattr(story, name) for name in plain} == {name: TOLD[name] for name in plain}
    assert story.entity_counter == {"Harbour Office": 2, "tidal gate": 1}
    assert (story.title, story.url) == (ARTICLE["title"], ARTICLE["url"])
    job = await room.job(taken.job_id)
    assert (job["state"], job["status"]) == ("done", "enriched")


async def test_number_beside_the_text_is_taken_as_text(room: Newsroom) -> None:
    taken = await room.take_in({**ARTICLE, "title": 1984, "published_at": 1714550400.5})
    await room.work()
    story = await room.app.story(taken.document_id or 0)
    assert (story.title, story.published_at) == ("1984", "1714550400.5")
    assert "1984" in asked(room.provider.calls[0])


async def test_plain_text_is_an_article_too(room: Newsroom) -> None:
    taken = await room.take_in(ARTICLE["text"])
    await room.work()
    assert (await room.app.story(taken.document_id or 0)).title is None
    assert ARTICLE["text"] in asked(room.provider.calls[0])


async def test_web_page_is_an_article_without_its_markup(room: Newsroom) -> None:
    page = (
        "<!doctype html><html><head><title>Gate opens</title><script>track()</script></head>"
        f"<body><article><h1>Gate opens</h1><p>{ARTICLE['text']}</p></article></body></html>"
    )
    taken = await room.take_in(page, name="gate.html")
    async with room.app.assembly.children:
        await room.work()
    assert (await room.app.story(taken.document_id or 0)).title == "Gate opens"
    shown = asked(room.provider.calls[0])
    assert ARTICLE["text"] in shown
    assert [tag for tag in ("<p>", "<html", "track()") if tag in shown] == []


@pytest.mark.parametrize(
    ("article", "category"),
    [
        ({"title": "no text"}, "empty_text"),
        ({"text": "  \n"}, "empty_text"),
        ({"text": ["a", "list"]}, "corrupt_input"),
        ({"text": 1984}, "corrupt_input"),
        ({"text": "Some.", "title": True}, "corrupt_input"),
    ],
)
async def test_what_is_no_article_fails_for_good_and_costs_nothing(
    room: Newsroom, article: dict[str, Any], category: str
) -> None:
    taken = await room.take_in(article)
    await room.work()
    job = await room.job(taken.job_id)
    assert (job["state"], job["last_error"]["category"]) == ("failed", category)
    assert room.provider.calls == []


async def test_another_kind_of_file_is_told_what_an_article_is(room: Newsroom) -> None:
    taken = await room.take_in("%PDF-1.7\n%âãÏÓ\n1 0 obj\n", name="report.pdf")
    await room.work()
    error = (await room.job(taken.job_id))["last_error"]
    assert (error["category"], "JSON or plain text" in error["error"]) == ("unsupported_format", True)


async def test_same_words_in_another_article_are_not_paid_for_again(room: Newsroom) -> None:
    await room.take_in()
    await room.work()
    again = await room.take_in({**ARTICLE, "url": "https://elsewhere.example/"})
    await room.work()
    assert (await room.job(again.job_id))["total_cost_usd"] == 0
    assert len(room.provider.calls) == 1


async def test_another_organisation_does_not_learn_what_was_asked_before(room: Newsroom) -> None:
    await room.take_in()
    await room.take_in(organisation="other")
    await room.work()
    assert len(room.provider.calls) == 2


async def test_what_was_used_is_settled_against_the_daily_budget(room: Newsroom) -> None:
    taken = await room.take_in()
    await room.work()
    cost = Decimal("0.000021")  # 100 tokens read at 0.15 and 10 written at 0.60 USD a million
    assert (await room.job(taken.job_id))["total_cost_usd"] == cost
    (budget,) = [one for one in await room.app.overview.budgets() if one["name"] == "stories"]
    assert (budget["limit_usd"], budget["spent_usd"], budget["reserved_usd"]) == (5, cost, 0)


async def test_absurd_usage_never_passes_the_limit(dsn: str, tmp_path: Path) -> None:
    async with newsroom(dsn, tmp_path, "stories", stories_daily_usd=Decimal("0.003")) as room:
        room.provider.script(absurd_usage())
        await room.take_in()
        await room.work()
        (budget,) = [one for one in await room.app.overview.budgets() if one["name"] == "stories"]
        assert 0 < budget["spent_usd"] <= budget["limit_usd"]


async def test_story_beyond_the_days_budget_waits_for_the_next_day(dsn: str, tmp_path: Path, clock: Clock) -> None:
    async with newsroom(dsn, tmp_path, "stories", stories_daily_usd=Decimal("0.003")) as room:
        first = await room.take_in()
        await room.work()
        second = await room.take_in({"text": "Another day."})
        await room.work()
        held, document = await room.job(second.job_id), await room.document(second.document_id)
        assert ((await room.job(first.job_id))["state"], held["state"]) == ("done", "held")
        assert (held["retry_count"], document["failure_count"]) == (0, 0)
        await clock.advance(days=1)
        await room.work()
        assert (await room.job(second.job_id))["state"] == "done"


async def test_long_article_reserves_what_it_may_really_cost(room: Newsroom) -> None:
    estimate_usd = room.pipeline.phases[0].estimate_usd
    assert callable(estimate_usd)
    assert estimate_usd(_attempt("x" * 100)) == Settings().stories_estimate_usd
    assert estimate_usd(_attempt("x" * 500_000)) > Decimal("0.03")


def _attempt(text: str) -> Attempt:
    document = Document(1, "acme", "article.json", "upload", None, None, {})
    return Attempt(1, 1, "stories", "enrich", 1, 1, 300.0, datetime.now(UTC), {"text": text}, document)


async def test_daily_budget_of_the_settings_begins_and_an_operators_stays(dsn: str, tmp_path: Path) -> None:
    async with newsroom(dsn, tmp_path, "stories", stories_daily_usd=Decimal(7)) as room:
        assert await _limit(room) == 7
        await room.app.control("tester").set_budget("stories", Decimal(2))
        await room.app.register()
        assert await _limit(room) == 2


async def _limit(room: Newsroom) -> Decimal:
    (budget,) = [one for one in await room.app.overview.budgets() if one["name"] == "stories"]
    return Decimal(budget["limit_usd"])


async def test_without_a_model_ingesting_names_the_missing_settings(dsn: str, tmp_path: Path) -> None:
    async with open_app(Settings(database_url=dsn, home=tmp_path)) as app:
        assert {"stories", "readings"}.isdisjoint(pipeline.name for pipeline in app.pipelines)
        for ask in (lambda: app.intake("stories"), lambda: app.worker(only_pipelines=("readings",))):
            with pytest.raises(InvalidInput, match="HOLDFAST_LLM_BASE_URL and HOLDFAST_LLM_MODEL"):
                ask()
