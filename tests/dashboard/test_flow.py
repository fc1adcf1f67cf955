"""Flow: where documents are on their way, at one look, without a reload."""

from datetime import UTC, datetime

import httpx2
from playwright.async_api import Browser, Page, expect

from tests.dashboard.chromium import PHONE, looking
from tests.dashboard.conftest import Dashboard
from tests.dashboard.sending import PATIENCE_SECONDS, upload


async def test_an_upload_goes_through_every_phase_while_the_page_is_open(dashboard: Dashboard, page: Page) -> None:
    await page.goto("/")
    published = page.locator("li.phase", has=page.get_by_role("heading", name="publish"))
    await expect(published.locator("title")).to_have_text("0 completed, 0 failed in 15 minutes")

    await upload(dashboard, "tides.md", "# Tides\n\nThe gate opens at three metres of water, never before.")

    await expect(published.locator("title")).to_have_text("1 completed, 0 failed in 15 minutes")


async def test_what_failed_is_counted_at_its_phase(dashboard: Dashboard, page: Page) -> None:
    await upload(dashboard, "broken.pdf", "%PDF-1.7 and nothing else")
    await page.goto("/")

    extract = page.locator("li.phase", has=page.get_by_role("heading", name="extract"))
    await expect(extract.get_by_role("link", name="1 failed")).to_be_visible()


async def test_the_theme_follows_the_viewer_and_can_be_changed(dashboard: Dashboard, browser: Browser) -> None:
    async with looking(browser, dashboard.url, dark=True) as page:
        await page.goto("/")
        await expect(page.locator("html")).to_have_class("dark")
        await page.get_by_role("button", name="Light or dark").click()
        await expect(page.locator("html")).not_to_have_class("dark")
        await page.reload()
        await expect(page.get_by_role("heading", name="Flow")).to_be_visible()
        await expect(page.locator("html")).not_to_have_class("dark")


async def test_a_phone_shows_it_without_scrolling_sideways(dashboard: Dashboard, browser: Browser) -> None:
    async with looking(browser, dashboard.url, size=PHONE) as page:
        await page.goto("/")
        await expect(page.get_by_role("heading", name="Flow")).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_letters_lead_from_page_to_page_and_an_unknown_one_says_so(dashboard: Dashboard, page: Page) -> None:
    # Both within a second, by the page's own clock, however slow the fingers are.
    await page.clock.set_fixed_time(datetime.now(UTC))
    await page.goto("/")
    await page.keyboard.press("g")
    await page.keyboard.press("j")
    await page.wait_for_url("**/jobs")

    async with httpx2.AsyncClient(base_url=dashboard.url, timeout=PATIENCE_SECONDS) as client:
        answer = await client.get("/nowhere")
    assert answer.status_code == 404
    assert "There is no such page" in answer.text
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
