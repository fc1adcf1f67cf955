"""Money and Health: what was spent and held, who works, and records that are broken and mended from the page."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from holdfast.dashboard.health.running import stuck
from holdfast.dashboard.money.accounts import budgets, spent_by
from holdfast.dashboard.money.daychart import KINDS, OTHERS, daychart
from holdfast.engine.overview import Row
from holdfast.engine.queue import Submission, submit
from holdfast.testing import StandIn
from tests.dashboard.chromium import PHONE, looking
from tests.dashboard.conftest import Dashboard, dashboard_of, embedding_by
from tests.dashboard.sending import PATIENCE_SECONDS, finished, upload

DAY = date(2026, 5, 1)
STAND_STILL = """update holdfast.pipeline_job set progress_at = progress_at - interval '11 minutes'
                 where state = 'working' and pipeline = 'sleepy' returning id"""
SLEEPY = """
import asyncio
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, Phase, Pipeline
from holdfast.engine.policy import Policy

async def nap(attempt: Attempt) -> Done:
    if attempt.token == 1:
        await asyncio.sleep(600)
    return Done()

sleepy = Pipeline(
    "sleepy", starts="tired",
    phases=(Phase(name="nap", handler=nap, done="rested", component="bed", policy=Policy.retrying("hasty", (1,))),),
)
"""


@pytest.fixture
async def paying(ready_holdfast: Path, dsn: str, tmp_path: Path) -> AsyncIterator[Dashboard]:
    """A dashboard whose embedder costs a dollar for each thousand tokens."""
    async with StandIn() as provider:
        prices = '{"text-embedding-3-small": {"input": 1000}}'
        variables = {**embedding_by(provider), "HOLDFAST_PRICES": prices}
        async with dashboard_of(ready_holdfast, dsn, tmp_path, **variables) as served:
            yield served


async def test_money_spent_is_shown_and_a_hold_is_released(paying: Dashboard, browser: Browser) -> None:
    control = paying.app.control("test")
    await control.set_budget("language model", Decimal(5))
    await control.hold({"provider": "press"}, reason="they ask for patience")
    await finished(paying, await upload(paying, "tides.md", "# Tides\n\nThe gate opens at three metres of water."))
    async with looking(browser, paying.url) as page:
        await page.goto("/money?days=7")
        today = page.locator(".figure", has_text="spent today").locator("b")
        await expect(today).to_have_text(f"${(await paying.app.overview.costs())[0]['cost_usd']:.4f}")
        await expect(page.get_by_role("row", name="documents · embed")).to_be_visible()
        await expect(page.get_by_role("row", name="language model all others")).to_contain_text("$5.00")

        await page.get_by_role("button", name="Release…").click()
        dialog = page.get_by_role("alertdialog")
        await expect(dialog).to_contain_text("provider press: 0 jobs wait.")
        await dialog.get_by_role("button", name="Release").click()
        await expect(page.get_by_text("Nothing is held.")).to_be_visible()
    assert await paying.app.overview.holds() == []


@pytest.fixture
async def sleepy(ready_holdfast: Path, dsn: str, tmp_path: Path) -> AsyncIterator[Dashboard]:
    """A dashboard with a pipeline that falls asleep over its first attempt."""
    (tmp_path / "sleepy.py").write_text(SLEEPY)
    async with dashboard_of(ready_holdfast, dsn, tmp_path, HOLDFAST_PIPELINES="sleepy:sleepy") as served:
        yield served


async def test_what_is_stuck_or_broken_is_put_right_from_the_page(sleepy: Dashboard, browser: Browser) -> None:
    async with looking(browser, sleepy.url) as page:
        await page.goto("/health")
        await expect(page.locator("tr", has_text="alive")).to_be_visible()
        await expect(page.get_by_text("No job is stuck.")).to_be_visible()
        await _stays_unfolded(page)
        await _is_taken_back(sleepy, page)
        await _is_mended(sleepy, page)
        await _fits_a_phone(page)
    acts = await sleepy.app.overview.audit()
    assert {act["actor"] for act in acts} == {"loopback"}
    assert "requeue_stuck" in {act["action"] for act in acts}


async def _is_taken_back(dashboard: Dashboard, page: Page) -> None:
    await submit(dashboard.app.database, "sleepy", [Submission(organisation="acme", source_name="bear")])
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await dashboard.app.database.fetchval(STAND_STILL):
            await asyncio.sleep(0.1)
    await expect(page.get_by_role("row", name="bear")).to_contain_text("sleepy · nap")
    await page.get_by_role("button", name="Take all of them back…").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="Take back").click()
    await expect(page.get_by_text("1 jobs are queued again.")).to_be_visible()
    await expect(page.get_by_text("No job is stuck.")).to_be_visible()


async def _is_mended(dashboard: Dashboard, page: Page) -> None:
    job = await upload(dashboard, "tides.md", "# Tides\n\nThe gate opens at three metres of water.")
    await finished(dashboard, job)
    await page.get_by_role("button", name="Examine now").click()
    await expect(page.get_by_text("Every invariant holds.")).to_be_visible()

    await dashboard.app.database.execute("update holdfast.pipeline_job set total_cost_usd = 1 where id = $1", job)
    await page.get_by_role("button", name="Examine now").click()
    await expect(page.locator(".findings")).to_contain_text(f"job {job} (1 in all)")
    await page.get_by_role("button", name="Repair what can be repaired…").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="Repair").click()
    await expect(page.get_by_text("Every invariant holds.")).to_be_visible()


async def _stays_unfolded(page: Page) -> None:
    """The workers' table is made anew at each heartbeat."""
    lane, heartbeat = page.get_by_text(re.compile(r"documents · extract, \d+ at once")), page.locator("td time").first
    await page.get_by_text(re.compile(r"\d+ lanes")).click()
    await expect(lane).to_be_visible()
    await expect(heartbeat).not_to_have_attribute("datetime", str(await heartbeat.get_attribute("datetime")))
    await expect(lane).to_be_visible()


async def _fits_a_phone(page: Page) -> None:
    await page.set_viewport_size(PHONE)
    for path in ("/health", "/money", "/failures", "/search?q=gate"):
        await page.goto(path)
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def _cost(amount: str, **told: object) -> Row:
    return {"organisation": "acme", "cost_usd": Decimal(amount), "wasted_usd": Decimal(0), **told}


def test_costs_are_added_up_the_dearest_first() -> None:
    rows = [_cost("1"), _cost("2", organisation="<b>"), _cost("4", wasted_usd=Decimal("0.5"))]

    drawn = spent_by("Organisation", rows, lambda row: row["organisation"])

    assert drawn.index("acme") < drawn.index("&lt;b&gt;")
    assert "$5.00" in drawn
    assert "$0.5000" in drawn


def test_a_day_stacks_what_it_cost_and_gathers_what_is_small() -> None:
    parts = [(DAY, f"phase {number}", Decimal(number)) for number in range(1, KINDS + 3)]

    drawn = daychart([DAY], parts)

    assert "1 May: $28.00 (phase 7 $7.00;" in drawn
    assert f"{OTHERS} $3.00)" in drawn
    assert drawn.count("<rect") == KINDS + 2  # the ground, those with a colour, and the others


def test_a_spent_budget_is_marked() -> None:
    row = {"name": "b", "organisation": None, "limit_usd": Decimal(2), "refusals": 3, "resets_at": None}
    spent = {**row, "spent_usd": Decimal(2), "reserved_usd": Decimal(0), "left_usd": Decimal(0)}
    fresh = {**row, "spent_usd": Decimal("0.5"), "reserved_usd": Decimal(1), "left_usd": Decimal("0.5")}

    assert '<i class="bad" style="width:100.0%">' in budgets([spent])
    assert '<i style="width:25.0%"></i><i class="reserved" style="width:50.0%">' in budgets([fresh])


def test_stuck_jobs_can_be_taken_back_by_those_who_may() -> None:
    job = {"job_id": 7, "source_name": "<script>", "organisation": "o", "pipeline": "p", "phase": "x", "minutes": 12.0}
    rows = [{**job, "worker_id": "w"}]

    assert 'data-act="requeue"' in stuck(rows, allowed=True)
    assert "&lt;script&gt;" in stuck(rows, allowed=True)
    assert "data-act" not in stuck(rows, allowed=False)
