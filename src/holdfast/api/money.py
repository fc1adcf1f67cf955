"""Questions about money: what was spent, what was saved, what budgets refused."""

from datetime import date

from fastapi import APIRouter

from holdfast.api.callers import Operator, Reader
from holdfast.api.questions import Days
from holdfast.api.shapes import Money, Shape

money = APIRouter(prefix="/admin", tags=["money"])


class Cost(Shape):
    """Money that one organisation spent in one phase; `wasted_usd` went into attempts that did not complete."""

    organisation: str
    platform: str
    pipeline: str
    phase: str
    attempts: int
    cost_usd: Money
    wasted_usd: Money


class DayCost(Shape):
    """The same for one day of UTC."""

    day: date
    organisation: str
    pipeline: str
    phase: str
    provider: str | None
    attempts: int
    cost_usd: Money
    wasted_usd: Money


class Saved(Shape):
    """What a day's resumed attempts would have cost besides, had they begun from scratch."""

    day: date
    resumed: int
    saved_usd: Money


class Refusals(Shape):
    """What a budget refused on a day."""

    day: date
    name: str
    organisation: str | None
    refusals: int
    limit_usd: Money
    spent_usd: Money


@money.get("/costs")
async def costs(call: Reader, days: Days = 7) -> list[Cost]:
    """Money spent, by organisation, platform and phase, the dearest first."""
    return Cost.each(await call.app.overview.costs(days))


@money.get("/costs-by-day")
async def costs_by_day(call: Reader, days: Days = 14) -> list[DayCost]:
    """Money spent, by day, organisation, phase and provider, the newest first."""
    return DayCost.each(await call.app.overview.costs_by_day(days))


@money.get("/saved")
async def saved(call: Reader, days: Days = 14) -> list[Saved]:
    """Money not spent again because finished phases were kept, by day."""
    return Saved.each(await call.app.overview.saved(days))


@money.get("/budget-refusals")
async def budget_refusals(call: Operator, days: Days = 7) -> list[Refusals]:
    """What budgets refused, by day."""
    return Refusals.each(await call.app.overview.budget_refusals(days))
