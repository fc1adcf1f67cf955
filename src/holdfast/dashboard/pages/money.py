"""Money: what was spent on what, what may still be spent, what was wasted, and what was saved."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from holdfast.dashboard.asking import confirmed, told
from holdfast.dashboard.frame import framed, page
from holdfast.dashboard.live import Panel
from holdfast.dashboard.markup import join, tag
from holdfast.dashboard.money.accounts import budgets, holds, refusals, saved, scope, spent_by
from holdfast.dashboard.money.daychart import daychart
from holdfast.dashboard.periods import chosen, periods
from holdfast.dashboard.tables import section
from holdfast.dashboard.viewer import Viewer
from holdfast.dashboard.words import count, figure, nothing_yet
from holdfast.dashboard.words import money as dollars
from holdfast.engine.overview import Row

CHOICES = (7, 14, 30)
FRESH_SECONDS = 5.0


@page("/money", title="Money · Holdfast")
async def money(request: Request, days: int = 14) -> None:
    """The page."""
    with framed(request, "/money") as viewer:
        viewer.require_operator()
        days = chosen(days, CHOICES)
        ui.html(periods("/money", days, CHOICES), sanitize=False)
        shared = viewer.shared
        spent = Panel(lambda: shared.get(("spent", days), lambda: _spent(viewer, days), seconds=FRESH_SECONDS))
        await spent.show(every=FRESH_SECONDS)
        limits = Panel(lambda: shared.get("budgets", lambda: _limits(viewer)))
        await limits.show()
        held = Panel(lambda: shared.get(("holds", viewer.may_act), lambda: _holds(viewer)))
        await held.on_act(lambda carried: _release(viewer, held, int(carried["hold"]))).show()
        what = Panel(lambda: shared.get(("went to", days), lambda: _went_to(viewer, days), seconds=FRESH_SECONDS))
        await what.show(every=FRESH_SECONDS)


async def _spent(viewer: Viewer, days: int) -> Markup:
    rows, kept = await _costs(viewer, days), await viewer.app.overview.saved(days)
    today = datetime.now(UTC).date()
    return join([_figures(rows, kept, today, days), _by_day(rows, today, days)])


async def _limits(viewer: Viewer) -> Markup:
    return budgets(await viewer.app.overview.budgets())


async def _holds(viewer: Viewer) -> Markup:
    return holds(await viewer.app.overview.holds(), allowed=viewer.may_act)


async def _went_to(viewer: Viewer, days: int) -> Markup:
    overview, rows = viewer.app.overview, await _costs(viewer, days)
    return join(
        [_by_what(rows), saved(await overview.saved(days), days), refusals(await overview.budget_refusals(days))]
    )


async def _costs(viewer: Viewer, days: int) -> list[Row]:
    overview = viewer.app.overview
    return await viewer.shared.get(("costs", days), lambda: overview.costs_by_day(days), seconds=FRESH_SECONDS)


def _figures(rows: list[Row], kept: list[Row], today: date, days: int) -> Markup:
    total, wasted, spared = _sum(rows, "cost_usd"), _sum(rows, "wasted_usd"), _sum(kept, "saved_usd")
    return tag(
        "section",
        figure(dollars(_sum([row for row in rows if row["day"] == today], "cost_usd")), "spent today"),
        figure(dollars(total), f"spent in {days} days"),
        figure(dollars(wasted), "of it on attempts that failed", kind="failed" if wasted else ""),
        figure(dollars(spared), "saved by resuming", kind="good" if spared else ""),
        figure(count(sum(row["attempts"] for row in rows)), "paid attempts"),
        class_="figures",
    )


def _by_day(rows: list[Row], today: date, days: int) -> Markup:
    if not rows:
        return nothing_yet(
            f"Nothing was paid for in {days} days.", "Phases that say what they cost, such as model calls, appear here."
        )
    window = [today - timedelta(days=back) for back in reversed(range(days))]
    parts = ((row["day"], _phase(row), row["cost_usd"]) for row in rows)
    return section("Cost per day", daychart(window, parts), note="Days are those of UTC.")


def _by_what(rows: list[Row]) -> Markup | None:
    if not rows:
        return None
    return tag(
        "section",
        tag("h2", "What it went to"),
        tag(
            "div",
            spent_by("Organisation", rows, lambda row: row["organisation"]),
            spent_by("Phase", rows, _phase),
            spent_by("Provider", rows, lambda row: row["provider"] or "none named"),
            class_="columns three",
        ),
    )


async def _release(viewer: Viewer, held: Panel, hold_id: int) -> None:
    async def release() -> str:
        waited = await viewer.control.release(hold_id)
        await held.refresh()
        return f"Released: {count(waited)} jobs go back to the queue."

    if viewer.may_act and await confirmed("Release this hold?", await _explained(viewer, hold_id), verb="Release"):
        await told(release)


async def _explained(viewer: Viewer, hold_id: int) -> Markup:
    hold = next((row for row in await viewer.app.overview.holds() if row["hold_id"] == hold_id), None)
    if hold is None:
        return tag("p", "It has ended meanwhile.")
    return join([tag("p", f"{scope(hold)}: {count(hold['parked_jobs'])} jobs wait."), tag("p", hold["reason"])])


def _phase(row: Row) -> str:
    return f"{row['pipeline']} · {row['phase']}"


def _sum(rows: list[Row], column: str) -> Decimal:
    return sum((row[column] for row in rows), Decimal(0))
