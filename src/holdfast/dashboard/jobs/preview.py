"""What an act on jobs would meet, told before it is done."""

from markupsafe import Markup

from holdfast.api.shapes import Meeting, Preview
from holdfast.dashboard.markup import Content, join, tag
from holdfast.dashboard.words import NOTHING, badge, count, money

HEADS = ("Phase", "State", "Last failure", "Jobs", "At past prices")
NUMBERS = {"Jobs", "At past prices"}
MOST_GROUPS = 12


def preview_markup(preview: Preview, warning: str) -> Markup:
    """Every group of jobs with what it would cost, and which of them stay as they are."""
    groups = preview.groups[:MOST_GROUPS]
    heads = [tag("th", head, scope="col", class_="number" if head in NUMBERS else None) for head in HEADS]
    table = tag("table", tag("thead", tag("tr", heads)), tag("tbody", map(_group, groups)), class_="rows")
    more = len(preview.groups) - len(groups)
    return join(
        [
            tag("p", warning, " ", _price(preview)),
            tag("div", table, class_="scroll"),
            tag("p", f"and {more} smaller groups", class_="faint") if more else None,
        ]
    )


def _price(preview: Preview) -> str:
    if preview.cost_usd is None:
        return "What it costs is not known: a phase among them has no price yet."
    if preview.cost_usd == 0:
        return "At past prices this costs nothing."
    return f"At past prices the phase each stands in costs about {money(preview.cost_usd)}."


def _group(group: Meeting) -> Markup:
    cost = None if group.usual_cost_usd is None else group.usual_cost_usd * group.jobs
    stays: Content = None if group.would_change else tag("span", " stays as it is", class_="faint")
    return tag(
        "tr",
        tag("td", f"{group.pipeline} · {group.phase}", class_="line"),
        tag("td", badge(group.state), stays),
        tag("td", group.category or NOTHING),
        tag("td", count(group.jobs), class_="number"),
        tag("td", money(cost) if group.would_change else NOTHING, class_="number"),
    )
