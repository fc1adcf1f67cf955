"""What failed, one card for each cause: what it hit, what it says, and what can be done about it."""

from collections.abc import Mapping

from markupsafe import Markup

from holdfast.dashboard.acts import act_button, unless
from holdfast.dashboard.markup import Content, link, tag
from holdfast.dashboard.tables import folded
from holdfast.dashboard.words import badge, count, moment, nothing_yet
from holdfast.engine.overview import Row

FIRST_JOBS = 5


def causes(groups: list[Row], trials: Mapping[str, Row], *, allowed: bool) -> Markup:
    """Those that keep the most jobs from going on first. `trials` are the newest of each cause."""
    if not groups:
        return nothing_yet("Nothing failed in this time.", "Look further back, or at the ", link("/", "flow"), ".")
    ordered = sorted(groups, key=lambda group: (-group["open_jobs"], -group["errors"]))
    cards = [_cause(group, trials.get(group["fingerprint"]), allowed=allowed) for group in ordered]
    return tag("ul", cards, class_="causes")


def _cause(group: Row, trial: Row | None, *, allowed: bool) -> Markup:
    return tag(
        "li",
        tag("header", tag("h2", _headline(group)), _category(group), _trial(group, trial)),
        tag("p", group["example"], class_="message"),
        tag("p", _extent(group), class_="faint"),
        _traceback(group),
        tag("div", _acts(group, trial, allowed=allowed), class_="acts"),
        class_="card" if group["open_jobs"] else "card over",
    )


def _headline(group: Row) -> str:
    if group["open_jobs"]:
        alike = ", one cause" if group["open_jobs"] > 1 else ""
        return f"{count(group['open_jobs'])} failed in {group['component']}{alike}"
    return f"Recovered in {group['component']}"


def _category(group: Row) -> Markup:
    return badge(group["category"], kind="bad" if group["open_jobs"] else None)


def _extent(group: Row) -> Content:
    places = ", ".join([*group["platforms"], *group["organisations"]])
    phases = ", ".join(group["phases"])
    errors = "1 error" if group["errors"] == 1 else f"{count(group['errors'])} errors"
    documents = "1 document" if group["documents"] == 1 else f"{count(group['documents'])} documents"
    said = " · ".join(part for part in (f"{errors} of {documents}", phases, places) if part)
    return [said, " · first ", moment(group["first_at"]), ", last ", moment(group["last_at"])]


def _traceback(group: Row) -> Markup | None:
    if not group["traceback"]:
        return None
    return folded(f"traceback {group['fingerprint']}", "Where it happened", tag("pre", group["traceback"]))


def _acts(group: Row, trial: Row | None, *, allowed: bool) -> Content:
    jobs, cause = group["open_jobs"], group["fingerprint"]
    if not jobs:
        return link(f"/jobs/{group['example_job_id']}", "See an example") if group["example_job_id"] else None
    tries = trial is None or trial["state"] != "trying"
    because = unless(allowed)
    return [
        act_button(f"Retry {count(jobs)}…", "retry", disabled_because=because, cause=cause),
        act_button("Try five first", "try", disabled_because=because, cause=cause)
        if tries and jobs > FIRST_JOBS
        else None,
        link(f"/jobs?fingerprint={cause}", "See the jobs" if jobs > 1 else "See the job"),
    ]


def _trial(group: Row, trial: Row | None) -> Content:
    """What became of the few that were tried first; one that was stopped matters while something stands failed."""
    if trial is None or (trial["state"] == "stopped" and not group["open_jobs"]):
        return None
    first = count(len(trial["first_jobs"]))
    match trial["state"]:
        case "trying":
            return badge(f"trying {first} first", kind="trying")
        case "passed":
            return badge(f"{first} passed, {count(trial['retried'])} more retried", kind="passed")
        case _:
            return [badge("the trial was stopped", kind="stopped-trial"), tag("span", trial["why"], class_="faint")]
