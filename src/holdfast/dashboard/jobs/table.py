"""A page of jobs as a table: where each stands, what went wrong, what happens next."""

from collections.abc import Collection

from markupsafe import Markup

from holdfast.dashboard.markup import Content, link, tag
from holdfast.dashboard.words import NOTHING, badge, moment, money, next_step
from holdfast.engine.overview import Row

SHORT = 90
HEADS = ("State", "Document", "Progress", "Last error", "Cost", "Submitted", "What happens next")
NUMBERS = {"Cost"}


def job_table(jobs: list[Row], *, ticked: Collection[int], may_act: bool) -> Markup:
    """The jobs in their order. Rows can be ticked by those who may act."""
    heads = [tag("th", head, scope="col", class_="number" if head in NUMBERS else None) for head in HEADS]
    everyone = all(job["job_id"] in ticked for job in jobs)
    first = tag("th", _tick("all", "every job on this page", checked=everyone), scope="col") if may_act else None
    rows = [_row(job, ticked=job["job_id"] in ticked, may_act=may_act) for job in jobs]
    table = tag("table", tag("thead", tag("tr", first, heads)), tag("tbody", rows), class_="rows jobs")
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="Jobs")


def percent_bar(job: Row) -> Content:
    """How far it is; of one that failed, whether it goes on by itself."""
    percent, state = job["percent"], job["state"]
    if percent < 0:
        return tag("span", "waits" if job["retry_at"] else "stopped", class_="faint")
    bar = tag("i", style=f"width:{percent}%", class_="bad" if state == "cancelled" else None)
    track = tag(
        "span", bar, class_="bar-track", role="progressbar", aria_valuenow=percent, aria_label="per cent of the way"
    )
    return tag("span", track, tag("span", f"{percent} %", class_="number"), class_="percent")


def shortened(text: str, most: int = SHORT) -> str:
    """Its first words, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _row(job: Row, *, ticked: bool, may_act: bool) -> Markup:
    number = job["job_id"]
    tick = tag("td", _tick(number, f"job {number}", checked=ticked)) if may_act else None
    return tag(
        "tr",
        tick,
        tag("td", badge(job["state"])),
        tag("td", _document(job), class_="document"),
        tag("td", percent_bar(job), _retries(job), class_="progress"),
        tag("td", _error(job["last_error"]), class_="error"),
        tag("td", money(job["total_cost_usd"]), class_="number"),
        tag("td", _when(job)),
        tag("td", next_step(job["next"]), class_="next"),
    )


def _tick(job: int | str, name: str, *, checked: bool) -> Markup:
    return tag(
        "input",
        type="checkbox",
        id=f"tick-{job}",
        aria_label=f"Tick {name}",
        checked=checked,
        data_act="tick",
        data_job=job,
    )


def _document(job: Row) -> Content:
    # A job that is done is in no phase any more.
    phase = [] if job["state"] == "done" else [job["phase"]]
    where = dict.fromkeys([job["pipeline"], *phase, job["status"]])
    return [
        link(f"/jobs/{job['job_id']}", job["source_name"], class_="name"),
        tag("span", " · ".join(where), class_="faint"),
    ]


def _retries(job: Row) -> Content:
    if not job["retry_count"]:
        return None
    most = f" of {job['max_retries']}" if job["retry_count"] <= (job["max_retries"] or 0) else ""
    return tag("span", f"{job['retry_count']}{most} retries", class_="faint")


def _error(error: Row | None) -> Content:
    if error is None:
        return tag("span", NOTHING, class_="faint")
    said = tag("span", shortened(error["error"]), title=error["error"])
    return [badge(error["category"], kind="bad"), said]


def _when(job: Row) -> Content:
    ended = job["finished_at"]
    return [
        tag("span", moment(job["submitted_at"])),
        tag("span", "ended ", moment(ended), class_="faint") if ended else None,
    ]
