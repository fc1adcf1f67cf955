"""Money as tables: what it went to, what may still be spent, what was refused, and what is held."""

from collections.abc import Callable
from decimal import Decimal

from markupsafe import Markup

from holdfast.dashboard.acts import act_button, unless
from holdfast.dashboard.markup import Content, tag
from holdfast.dashboard.tables import Column, section, table
from holdfast.dashboard.words import NOTHING, count, moment, money, nothing_yet
from holdfast.engine.overview import Row

ALL_OTHERS = "all others"
SCOPES = ("provider", "organisation", "pipeline", "phase", "budget")


def spent_by(title: str, rows: list[Row], key: Callable[[Row], str]) -> Markup:
    """Costs added up by what `key` says of them, the dearest first."""
    sums: dict[str, Row] = {}
    for row in rows:
        line = sums.setdefault(key(row), {"name": key(row), "cost_usd": Decimal(0), "wasted_usd": Decimal(0)})
        for figure in ("cost_usd", "wasted_usd"):
            line[figure] += row[figure]
    dearest = sorted(sums.values(), key=lambda line: -line["cost_usd"])
    most = max((line["cost_usd"] for line in dearest), default=Decimal(1))
    columns = (
        Column(title, lambda line: line["name"], "name"),
        Column("Cost", lambda line: money(line["cost_usd"]), "number"),
        Column("", lambda line: bar((line["cost_usd"] / most, ""))),
        Column("Wasted", lambda line: money(line["wasted_usd"]), "number"),
    )
    return table(columns, dearest, empty=nothing_yet("Nothing was paid for."))


def budgets(rows: list[Row]) -> Markup:
    """What may be spent today."""
    empty = nothing_yet("There are no budgets.", "Set one: ", tag("code", "holdfast budget set NAME USD"))
    note = "Reserved is what attempts under way may still cost; it comes back as far as they do not."
    return section("Budgets today", table(BUDGETS, rows, empty=empty), note=note)


def refusals(rows: list[Row]) -> Markup:
    """What budgets did not let through."""
    empty = nothing_yet("No budget refused anything.")
    return section("Refused by budgets", table(REFUSALS, rows, empty=empty))


def holds(rows: list[Row], *, allowed: bool) -> Markup:
    """What is kept from being claimed, and the way to let it go."""
    release = Column(
        "", lambda row: act_button("Release…", "release", disabled_because=unless(allowed), hold=row["hold_id"])
    )
    empty = nothing_yet("Nothing is held.", "A spent budget or a provider that asks for patience would stand here.")
    return section("Holds", table((*HOLDS, release), rows, empty=empty))


def saved(rows: list[Row], days: int) -> Markup:
    """What was not paid for again."""
    resumed, amount = sum(row["resumed"] for row in rows), sum((row["saved_usd"] for row in rows), Decimal(0))
    said = [
        tag("b", money(amount)),
        f" in {days} days: {count(resumed)} attempts took up where others had stopped, "
        "and the finished phases before them were not run again.",
    ]
    return section("Not paid twice", tag("p", said, class_="card"))


def bar(*parts: tuple[Decimal, str]) -> Markup:
    """Shares of a whole, side by side, each with its kind."""
    widths = [(min(max(float(part), 0.0), 1.0), kind) for part, kind in parts]
    return tag(
        "div", [tag("i", class_=kind or None, style=f"width:{share:.1%}") for share, kind in widths], class_="bar-track"
    )


def scope(row: Row) -> str:
    """What a hold keeps, in words."""
    return ", ".join(f"{name} {row[name]}" for name in SCOPES if row[name] is not None)


def _spent(row: Row) -> Content:
    whole = row["limit_usd"] or Decimal(1)
    kind = "bad" if row["left_usd"] <= 0 else ""
    return bar((row["spent_usd"] / whole, kind), (row["reserved_usd"] / whole, "reserved"))


BUDGETS = (
    Column("Budget", lambda row: row["name"]),
    Column("Organisation", lambda row: row["organisation"] or ALL_OTHERS),
    Column("", _spent),
    Column("Spent", lambda row: money(row["spent_usd"]), "number"),
    Column("Reserved", lambda row: money(row["reserved_usd"]), "number"),
    Column("Left", lambda row: money(row["left_usd"]), "number"),
    Column("Limit", lambda row: money(row["limit_usd"]), "number"),
    Column("Refused", lambda row: count(row["refusals"]), "number"),
    Column("Next day", lambda row: moment(row["resets_at"])),
)
REFUSALS = (
    Column("Day", lambda row: f"{row['day']:%-d %b}", "name"),
    Column("Budget", lambda row: row["name"]),
    Column("Organisation", lambda row: row["organisation"] or ALL_OTHERS),
    Column("Refusals", lambda row: count(row["refusals"]), "number"),
    Column("Spent", lambda row: money(row["spent_usd"]), "number"),
    Column("Limit", lambda row: money(row["limit_usd"]), "number"),
)
HOLDS = (
    Column("What", scope),
    Column("Jobs waiting", lambda row: count(row["parked_jobs"]), "number"),
    Column("Ends", lambda row: moment(row["until"], otherwise="when released")),
    Column("Why", lambda row: row["reason"] or NOTHING, "wide"),
    Column("By", lambda row: row["created_by"]),
)
