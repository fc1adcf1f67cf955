"""Failures: many that failed alike are one cause, and are put right from the page."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from markupsafe import Markup
from playwright.async_api import Browser, Page, expect

from holdfast.dashboard.failures.causes import causes
from holdfast.dashboard.failures.offenders import documents
from holdfast.engine.overview import Row
from holdfast.testing import StandIn, refusal
from tests.dashboard.chromium import looking
from tests.dashboard.conftest import Dashboard, dashboard_of, embedding_by
from tests.dashboard.sending import upload

OUTAGE = [refusal(503, message="we are down")] * 500


@pytest.fixture
async def provider() -> AsyncIterator[StandIn]:
    async with StandIn() as stand_in:
        yield stand_in


@pytest.fixture
async def dependent(ready_holdfast: Path, dsn: str, tmp_path: Path, provider: StandIn) -> AsyncIterator[Dashboard]:
    """A dashboard whose documents need the provider to be embedded."""
    async with dashboard_of(ready_holdfast, dsn, tmp_path, **embedding_by(provider)) as served:
        yield served


async def _fails(dashboard: Dashboard, provider: StandIn, *names: str) -> None:
    provider.script(*OUTAGE)
    for name in names:
        await upload(dashboard, name, f"# Notes of {name}\n\nThe gate opens at three metres of water.")


async def test_an_outage_is_one_cause_and_its_documents_recover_from_the_page(
    dependent: Dashboard, provider: StandIn, browser: Browser
) -> None:
    async with looking(browser, dependent.url) as page:
        await page.goto("/failures")
        await expect(page.get_by_text("Nothing failed in this time.")).to_be_visible()

        await _fails(dependent, provider, *(f"day-{number}.md" for number in range(7)))
        await expect(page.get_by_role("heading", name="7 failed in embedding, one cause")).to_be_visible()
        provider.recover()
        await page.get_by_role("button", name="Try five first").click()
        await expect(page.get_by_text("5 passed, 2 more retried")).to_be_visible()
        await expect(page.get_by_role("heading", name="Recovered in embedding")).to_be_visible()

        await _fails(dependent, provider, "eve.md", "dawn.md")
        await expect(page.get_by_role("heading", name="2 failed in embedding, one cause")).to_be_visible()
        provider.recover()
        await _retry_all(page)
        await expect(page.get_by_role("heading", name="Recovered in embedding")).to_be_visible()
    acts = await dependent.app.overview.audit()
    assert {act["actor"] for act in acts if act["action"] == "retry"} == {"loopback"}


async def _retry_all(page: Page) -> None:
    await page.get_by_role("button", name="Retry 2…").click()
    dialog = page.get_by_role("alertdialog")
    await expect(dialog).to_contain_text("2 failed in documents · embed")
    await dialog.get_by_role("button", name="Retry").click()


def _group(**told: object) -> Row:
    now = datetime.now(UTC)
    group = {
        "fingerprint": "f1",
        "category": "unknown",
        "component": "parse",
        "errors": 9,
        "documents": 8,
        "open_jobs": 7,
    }
    places = {"platforms": ["url"], "organisations": ["acme"], "phases": ["extract"], "example_job_id": 1}
    return {**group, **places, "example": "it broke", "traceback": None, "first_at": now, "last_at": now, **told}


def _drawn(group: Row, trial: Row | None = None, *, allowed: bool = True) -> Markup:
    return causes([group], {"f1": trial} if trial else {}, allowed=allowed)


def test_what_documents_and_servers_say_is_shown_as_text() -> None:
    script = "<script>alert(1)</script>"
    row = {"document_id": 1, "organisation": script, "errors": 3, "category": script, "error": script}
    named = documents([{**row, "source_name": script, "last_at": None, "failure_state": None}], allowed=True)
    grouped = _drawn(_group(example=script, traceback=script, component=script, platforms=[script]))

    assert "<script" not in named + grouped
    assert ">&lt;script&gt;alert(1)&lt;/script&gt;</a>" in named
    assert grouped.count("&lt;script&gt;") == 4


def test_who_may_only_look_is_told_why() -> None:
    drawn = _drawn(_group(), allowed=False)

    assert "data-act" not in drawn
    assert drawn.count("your key may only look") == drawn.count(" disabled") == 2


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("trying", "trying 5 first"),
        ("passed", "5 passed, 407 more retried"),
        ("stopped", "job 3 failed again"),
    ],
)
def test_a_trial_says_how_it_stands(state: str, said: str) -> None:
    trial = {"state": state, "first_jobs": [1, 2, 3, 4, 5], "retried": 407, "why": "job 3 failed again"}

    assert said in _drawn(_group(), trial)


def test_a_cause_under_trial_is_not_tried_twice() -> None:
    assert 'data-act="try"' in _drawn(_group())
    assert 'data-act="try"' not in _drawn(_group(), {"state": "trying", "first_jobs": [1], "retried": 0, "why": None})


def test_only_a_document_that_failed_for_good_is_started_over() -> None:
    row = {"document_id": 1, "source_name": "a", "organisation": "o", "errors": 3, "category": "unknown", "error": "e"}
    given_up = documents([{**row, "last_at": None, "failure_state": "permanent_failure"}], allowed=True)
    retried = documents([{**row, "last_at": None, "failure_state": "pending"}], allowed=True)

    assert 'data-act="reset"' in given_up
    assert "data-act" not in retried
