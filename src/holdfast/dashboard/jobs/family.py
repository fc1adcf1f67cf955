"""Whom a job belongs with: the document's other jobs, what it came out of, what came out of it."""

from markupsafe import Markup

from holdfast.dashboard.jobs.table import percent_bar
from holdfast.dashboard.markup import Content, join, link, tag
from holdfast.dashboard.words import badge, count, moment, money
from holdfast.engine.overview import Row

MOST_SHOWN = 100


def family(others: list[Row], parents: list[Row], parts: list[Row]) -> Markup:
    """Three lists, each left out when it is empty."""
    return join(
        [
            _list("Came out of", parents),
            _list("Other jobs of this document", others),
            _list("Came out of it", parts),
        ]
    )


def warnings_markup(warnings: list[dict[str, object]]) -> Content:
    """What the document's owner should know."""
    told = [tag("li", str(one["message"])) for one in warnings if one["message"] is not None]
    return tag("ul", told, class_="problems") if told else None


def acts_markup(acts: list[Row]) -> Content:
    """What people did to the job, the newest first."""
    if not acts:
        return None
    rows = [
        tag("li", tag("b", act["action"]), " by ", act["actor"], " ", moment(act["at"]), _reason(act)) for act in acts
    ]
    return tag("section", tag("h2", "What people did"), tag("ul", rows, class_="card plain"))


def _reason(act: Row) -> str | None:
    return f": {act['reason']}" if act["reason"] else None


def _list(title: str, jobs: list[Row]) -> Content:
    if not jobs:
        return None
    rows = [
        tag(
            "tr",
            tag("td", badge(job["state"])),
            tag("td", link(f"/jobs/{job['job_id']}", job["source_name"]), class_="wide"),
            tag("td", f"{job['pipeline']} · {job['phase']}"),
            tag("td", percent_bar(job)),
            tag("td", money(job["total_cost_usd"]), class_="number"),
            tag("td", moment(job["submitted_at"])),
        )
        for job in jobs[:MOST_SHOWN]
    ]
    more = len(jobs) - MOST_SHOWN
    return tag(
        "section",
        tag("h2", f"{title} ({count(len(jobs))})"),
        tag("div", tag("table", tag("tbody", rows), class_="rows"), class_="scroll"),
        tag("p", f"and {count(more)} more", class_="faint") if more > 0 else None,
    )
