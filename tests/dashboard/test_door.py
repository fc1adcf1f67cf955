"""The door: where keys are in use, pages show themselves to those who have one, and only what it opens."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from holdfast.access.keys import NewKey, Scope
from holdfast.app import open_app
from holdfast.settings import Settings
from tests.dashboard.chromium import looking
from tests.dashboard.conftest import Dashboard, dashboard_of
from tests.dashboard.sending import upload


@dataclass(frozen=True, slots=True)
class Guarded:
    """A dashboard with keys: one of an operator, one of an organisation."""

    dashboard: Dashboard
    operator: NewKey
    acme: NewKey


@pytest.fixture
async def guarded(ready_holdfast: Path, dsn: str, tmp_path: Path) -> AsyncIterator[Guarded]:
    async with open_app(Settings(database_url=dsn, home=tmp_path)) as app:
        operator = await app.keys.create("operator", scope=Scope.ADMIN, organisation=None, actor="test")
        acme = await app.keys.create("of acme", scope=Scope.ADMIN, organisation="acme", actor="test")
    async with dashboard_of(ready_holdfast, dsn, tmp_path) as served:
        yield Guarded(served, operator, acme)


async def _enter(page: Page, secret: str) -> None:
    await page.get_by_label("Your key").fill(secret)
    await page.get_by_role("button", name="Enter").click()


async def _try_a_wrong_one(browser: Browser, url: str) -> None:
    context = await browser.new_context(base_url=url)  # not `looking`: the browser itself complains of a 401
    page = await context.new_page()
    await page.goto("/login")
    await _enter(page, "hf_wrong")
    await expect(page.get_by_role("alert")).to_have_text("this key opens nothing")
    await context.close()


async def test_only_keys_that_hold_open_the_pages(guarded: Guarded, browser: Browser) -> None:
    await _try_a_wrong_one(browser, guarded.dashboard.url)
    async with looking(browser, guarded.dashboard.url) as page:
        await page.goto("/money")
        await page.wait_for_url("**/login")
        await _enter(page, guarded.operator.secret)
        await expect(page.get_by_role("heading", name="Flow")).to_be_visible()
        await page.get_by_role("link", name="Money").click()
        await expect(page.get_by_text("spent today")).to_be_visible()

        await guarded.dashboard.app.keys.revoke(guarded.operator.key_id, actor="test")
        await page.wait_for_url("**/login")
        await page.goto("/")
        await page.wait_for_url("**/login")


async def test_a_key_of_one_organisation_sees_that_one_alone(guarded: Guarded, browser: Browser) -> None:
    secret, dashboard = guarded.operator.secret, guarded.dashboard
    await upload(dashboard, "acme.pdf", "%PDF-1.7 and nothing", key=secret, organisation="acme")
    await upload(dashboard, "other.pdf", "%PDF-1.7 nor here", key=secret, organisation="other")
    async with looking(browser, dashboard.url) as page:
        await page.goto("/")
        await _enter(page, guarded.acme.secret)
        await expect(page.get_by_role("navigation", name="Pages")).to_have_text("FlowJobsFailuresSearch")
        for path in ("/money", "/health"):
            await page.goto(path)
            await expect(page.get_by_role("alert")).to_contain_text("it needs an admin key of none in particular")

        await page.goto("/failures")
        await expect(page.get_by_role("heading", name="1 failed in parse")).to_be_visible()
        await expect(page.get_by_role("link", name="acme.pdf")).to_be_visible()
        await expect(page.locator("#content")).not_to_contain_text("other")
        await expect(page.get_by_text("Where it happened")).to_have_count(0)
        await page.goto("/search?q=anything&organisation=other")
        await expect(page.get_by_role("alert")).to_contain_text('there is no organisation "other" for this key')

        await page.get_by_role("button", name="Leave").click()
        await page.wait_for_url("**/login")
        await page.goto("/jobs")
        await page.wait_for_url("**/login")
