"""Jobs and the page of each: found among many, followed to the end, mended by whoever may, hidden from others."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, Page, expect

from holdfast.access.keys import Scope
from holdfast.app import App, open_app
from holdfast.engine.queue import Queue, Submission, submit
from holdfast.errors import CorruptInput
from holdfast.settings import Settings
from tests.dashboard.chromium import PHONE, looking
from tests.dashboard.conftest import Dashboard, dashboard_of
from tests.dashboard.sending import upload
from tests.engine.scenario import WORKER, Scenario

TEXT = "# Tides\n\nThe gate opens at three metres of water, never before."
MANY = 120


async def test_an_upload_is_followed_from_its_phases_to_its_removal(dashboard: Dashboard, page: Page) -> None:
    await page.goto("/jobs")
    await expect(page.get_by_text("There is no job yet.")).to_be_visible()

    await upload(dashboard, "tides.md", TEXT)
    await page.get_by_role("link", name="tides.md").click()

    await expect(page.locator(".head .badge")).to_have_text("done")
    await expect(page.locator(".timeline > .passed")).to_have_count(8)
    await expect(page.locator(".passages .text")).to_contain_text("three metres of water")
    async with page.expect_download() as taken:
        await page.get_by_role("link", name="Original").click()
    assert (await taken.value).suggested_filename == "tides.md"
    assert (await (await taken.value).path()).read_text() == TEXT

    await page.get_by_role("button", name="Delete document").click()
    await page.get_by_role("button", name="Delete for good").click()
    await expect(page.get_by_role("dialog")).to_contain_text("Document 1 is gone")
    await expect(page.locator(".facts div", has_text="chunks").locator("dd")).to_have_text("1")
    await page.get_by_role("button", name="Close").click()
    await page.wait_for_url(re.compile("/jobs$"))
    await page.goto("/jobs/1")
    await expect(page.locator(".head")).to_contain_text("This document was deleted")


async def test_each_key_sees_and_does_what_it_may(
    ready_holdfast: Path, dsn: str, tmp_path: Path, browser: Browser
) -> None:
    names = {"writer": (Scope.WRITE, "acme"), "reader": (Scope.READ, "acme"), "stranger": (Scope.ADMIN, "other")}
    async with _guarded(ready_holdfast, dsn, tmp_path, **names) as (dashboard, keys):
        (job,) = await _failed(dashboard.app, 1, name="<script>alert(1)</script>.pdf")

        async with _entered(browser, dashboard, keys["stranger"]) as page:
            await page.goto(f"/jobs/{job}")
            await expect(page.get_by_role("alert")).to_have_text(f"there is no job {job}")
            taken = await page.request.get(f"/documents/{job}/original")
            assert (taken.status, "alert" in await taken.text()) == (404, False)

        async with _entered(browser, dashboard, keys["reader"]) as page:
            await page.goto(f"/jobs/{job}")
            await expect(page.locator(".failure .said")).to_have_text("<b>torn</b>")
            await expect(page.get_by_text("Traceback")).to_have_count(0)
            # That a button is disabled keeps nobody from sending what it sends.
            forge = "const b = document.getElementById('act-retry'); b.disabled = false; b.dataset.act = 'retry'"
            await page.evaluate(f"() => {{ {forge} }}")
            await page.get_by_role("button", name="Retry", exact=True).click()
            await expect(page.get_by_text("your key may only look")).to_be_visible()

        async with _entered(browser, dashboard, keys["writer"]) as page:
            await page.goto(f"/jobs/{job}")
            await expect(page.get_by_role("heading", name="<script>alert(1)</script>.pdf")).to_be_visible()
            await page.get_by_role("button", name="Retry", exact=True).click()
            await page.get_by_role("button", name="Retry 1 job").click()
            await expect(page.locator(".head .badge")).to_have_text("queued")
            await expect(page.locator(".plain")).to_contain_text("retry by key 1 (writer)")
        acts = [(act["action"], act["actor"]) for act in await dashboard.app.overview.audit(job_id=job)]
        assert acts == [("retry", "key 1 (writer)")]


async def test_many_are_paged_filtered_and_mended_at_once(
    ready_holdfast: Path, dsn: str, tmp_path: Path, browser: Browser
) -> None:
    async with dashboard_of(ready_holdfast, dsn, tmp_path, "serve") as dashboard:
        failed = await _failed(dashboard.app, 3, name="torn.pdf")
        await _submit(dashboard.app, MANY, name="fine.pdf")
        async with looking(browser, dashboard.url) as page:
            rows = page.locator("table.jobs tbody tr")
            await page.goto("/jobs?organisation=acme")
            await expect(rows.first).to_be_visible()
            seen = await _names(page)
            while await page.get_by_role("link", name="Older").count():
                await _follow(page, "Older")
                await expect(rows.first).to_be_visible()
                seen += await _names(page)
            assert sorted(seen) == ["fine.pdf"] * MANY + ["torn.pdf"] * 3

            await _follow(page, "Newest")
            await page.get_by_label("Name or number").fill("torn")
            await expect(rows).to_have_count(3)
            await page.wait_for_url(re.compile("text=torn"))
            await page.get_by_label(f"Tick job {failed[0]}").check()
            await page.get_by_role("button", name="Cancel").click()
            await page.get_by_role("button", name="Cancel 1 job").click()
            await expect(page.get_by_text("1 cancelled")).to_be_visible()

            await page.goto("/jobs?state=failed&phase=store")
            await expect(rows).to_have_count(2)
            await page.get_by_role("button", name="Retry").click()
            await expect(page.get_by_role("alertdialog")).to_contain_text("corrupt_input")
            await page.get_by_role("button", name="Retry 2 jobs").click()
            await expect(page.get_by_text("No job is like that.")).to_be_visible()
        async with looking(browser, dashboard.url, size=PHONE) as page:
            for path in ("/jobs", f"/jobs/{failed[0]}"):
                await page.goto(path)
                await expect(page.get_by_role("link", name="Jobs")).to_be_visible()
                await expect(page.locator(".badge").first).to_be_visible()
                assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            await page.get_by_text("Traceback").click()
            await expect(page.locator("details pre")).to_contain_text("CorruptInput")
        assert await _states(dashboard.app) == {"cancelled": 1, "queued": MANY + 2}


@asynccontextmanager
async def _guarded(
    program: Path, dsn: str, home: Path, **names: tuple[Scope, str]
) -> AsyncIterator[tuple[Dashboard, dict[str, str]]]:
    """A dashboard that asks for keys, and the keys by their names: each with its scope and organisation."""
    async with open_app(Settings(database_url=dsn, home=home)) as app:
        keys = {
            name: (await app.keys.create(name, scope=scope, organisation=organisation, actor="test")).secret
            for name, (scope, organisation) in names.items()
        }
    async with dashboard_of(program, dsn, home, "serve") as dashboard:
        yield dashboard, keys


@asynccontextmanager
async def _entered(browser: Browser, dashboard: Dashboard, key: str) -> AsyncIterator[Page]:
    """The page of a viewer who has shown this key."""
    async with looking(browser, dashboard.url) as page:
        await page.request.post("/login", form={"key": key}, max_redirects=0)
        yield page


async def _submit(app: App, number: int, *, name: str) -> list[int]:
    items = [Submission(organisation="acme", source_name=name)] * number
    return [one.job_id for one in await submit(app.database, "documents", items)]


async def _failed(app: App, number: int, *, name: str) -> list[int]:
    """Jobs that failed for good in their first phase."""
    jobs = await _submit(app, number, name=name)
    scenario = Scenario(app.database, Queue(app.database), "documents")
    await scenario.register_worker(WORKER)
    await scenario.fail(await scenario.claim("store", number), CorruptInput("<b>torn</b>"))
    return jobs


async def _follow(page: Page, link: str) -> None:
    """Go where it leads; comes back when the other page is there."""
    here = page.url
    await page.get_by_role("link", name=link).click()
    await page.wait_for_url(lambda url: url != here)


async def _names(page: Page) -> list[str]:
    return await page.locator("table.jobs .name").all_inner_texts()


async def _states(app: App) -> dict[str, int]:
    return await Scenario(app.database, Queue(app.database), "documents").states()
