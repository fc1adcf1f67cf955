"""What was spent on each day, as bars side by side, each made up of what it went to."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal

from markupsafe import Markup

from holdfast.dashboard.markup import tag
from holdfast.dashboard.words import money

WIDTH, HEIGHT = 600, 120
KINDS = 5
OTHERS = "others"
NOTHING_SPENT = Decimal(0)


def daychart(days: Sequence[date], spent: Iterable[tuple[date, str, Decimal]]) -> Markup:
    """One bar for each day, the oldest first. `spent` is on which day, on what, how much; the dearest have colours."""
    parts = list(spent)
    names = _dearest(parts)
    by_day: dict[date, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for day, name, amount in parts:
        by_day[day][name if name in names else OTHERS] += amount
    shown = names if all(name in names for _, name, _ in parts) else [*names, OTHERS]
    most = max((sum(amounts.values(), NOTHING_SPENT) for amounts in by_day.values()), default=NOTHING_SPENT)
    return tag(
        "figure",
        tag("div", tag("span", money(most)), tag("span", "$0"), class_="scale", aria_hidden="true"),
        _bars(days, by_day, shown, most),
        tag("div", tag("span", f"{days[0]:%-d %b}"), tag("span", f"{days[-1]:%-d %b}, today"), class_="span"),
        tag("figcaption", [_named(place, name) for place, name in enumerate(shown)]),
        class_="daychart card",
    )


def _dearest(parts: Iterable[tuple[date, str, Decimal]]) -> list[str]:
    totals: dict[str, Decimal] = defaultdict(Decimal)
    for _, name, amount in parts:
        totals[name] += amount
    return sorted(totals, key=lambda name: -totals[name])[:KINDS]


def _bars(
    days: Sequence[date], by_day: Mapping[date, Mapping[str, Decimal]], names: Sequence[str], most: Decimal
) -> Markup:
    step = WIDTH / len(days)
    bars = [_bar(day, place * step, step * 0.82, by_day.get(day, {}), names, most) for place, day in enumerate(days)]
    return tag("svg", bars, viewBox=f"0 0 {WIDTH} {HEIGHT}", preserveAspectRatio="none", role="img")


def _bar(
    day: date, left: float, width: float, amounts: Mapping[str, Decimal], names: Sequence[str], most: Decimal
) -> Markup:
    """The day's parts, stacked from the ground up."""
    pieces, ground = [], float(HEIGHT)
    for place, name in enumerate(names):
        if amounts.get(name):
            height = HEIGHT * float(amounts[name] / most)
            ground -= height
            pieces.append(_rectangle(f"kind-{place}", left, ground, width, height))
    said = "; ".join(f"{name} {money(amounts[name])}" for name in names if amounts.get(name)) or "nothing"
    title = tag("title", f"{day:%-d %B}: {money(sum(amounts.values(), NOTHING_SPENT))} ({said})")
    return tag("g", title, _rectangle("ground", left, HEIGHT - 1, width, 1), pieces)


def _rectangle(kind: str, left: float, top: float, width: float, height: float) -> Markup:
    return tag("rect", class_=kind, x=f"{left:.1f}", y=f"{top:.1f}", width=f"{width:.1f}", height=f"{height:.1f}")


def _named(place: int, name: str) -> Markup:
    return tag("span", tag("i", class_=f"kind-{place}"), name)
