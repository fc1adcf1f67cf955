"""The head of a job's page: whose document it is, where it stands, what happens next, what can be done."""

from markupsafe import Markup

from holdfast.dashboard.acts import act_button
from holdfast.dashboard.jobs.table import percent_bar
from holdfast.dashboard.markup import Content, tag
from holdfast.dashboard.viewer import MAY_ONLY_LOOK
from holdfast.dashboard.words import badge, count, moment, money, next_step
from holdfast.engine.control import CANCEL, RESET, RETRY, Act
from holdfast.engine.cost import cost_is_open
from holdfast.engine.overview import Row
from holdfast.engine.retries import told_retries

FAR_BACK = 10_000
OLD_FLOW = "the old installation"


def head(job: Row, *, may_act: bool) -> Markup:
    """Everything about the job as a whole."""
    document = job["document"]
    return tag(
        "section",
        tag(
            "div",
            tag("h2", job["source_name"]),
            badge(job["state"]),
            percent_bar(job),
            class_="title",
        ),
        tag("p", next_step(job["next"]), class_="next"),
        tag("p", "This document was deleted ", moment(document["deleted_at"])) if document["deleted_at"] else None,
        tag("dl", [_fact(name, value) for name, value in _facts(job)], class_="facts"),
        tag("div", _acts(job, may_act=may_act), class_="acts"),
        class_="card head",
    )


def why_not(job: Row, act: Act, *, may_act: bool) -> str | None:
    """Why the act cannot be done to this job now; None: it can."""
    if not may_act:
        return MAY_ONLY_LOOK
    if job["document"]["deleted_at"] is not None:
        return "its document was deleted"
    if job["flow"] == "old":
        return f"{OLD_FLOW} carries it"
    return None if job["state"] in act.states else f"a job that is {job['state']} cannot be {_DONE[act.name]}"


_DONE = {"retry": "retried", "reset": "reset", "cancel": "cancelled"}


def _fact(name: str, value: Content) -> Markup:
    return tag("div", tag("dt", name), tag("dd", value), class_="wide" if name == "Location" else None)


def _facts(job: Row) -> list[tuple[str, Content]]:
    document = job["document"]
    facts: list[tuple[str, Content]] = [
        ("Organisation", job["organisation"]),
        ("Pipeline", job["pipeline"]),
        ("Status", job["status"]),
        ("Platform", job["platform"]),
        ("Document", document["document_id"]),
        ("Submitted", moment(job["submitted_at"])),
    ]
    if job["state"] != "done":  # then it is in no phase any more
        facts.insert(2, ("Phase", job["phase"]))
    if job["flow"] == "old":
        facts.append(("Carried by", OLD_FLOW))
    if job["finished_at"]:
        facts.append(("Ended", moment(job["finished_at"])))
    if job["queue_position"] is not None:
        facts.append(("In the queue", _place(job["queue_position"])))
    at_least = "at least " if any(cost_is_open(attempt["error"]) for attempt in job["attempts"]) else ""
    facts.append(("Cost", f"{at_least}{money(job['total_cost_usd'])}"))
    if job["retry_count"]:
        facts.append(("Retries", told_retries(job["retry_count"], job["max_retries"] or 0)))
    if job["crash_count"]:
        facts.append(("Workers lost over it", count(job["crash_count"])))
    if document["duplicate_of"]:
        facts.append(("Same content as", f"document {document['duplicate_of']}"))
    if document["source_location"]:
        facts.append(("Location", document["source_location"]))
    return facts


def _place(before: int) -> str:
    if before > FAR_BACK:
        return f"more than {count(FAR_BACK)} before it"
    return f"{count(before)} before it" if before else "none before it"


def _acts(job: Row, *, may_act: bool) -> Content:
    gone = "its document was deleted already" if job["document"]["deleted_at"] else None
    return [
        act_button("Retry", "retry", disabled_because=why_not(job, RETRY, may_act=may_act)),
        act_button("Cancel", "cancel", disabled_because=why_not(job, CANCEL, may_act=may_act), grave=True),
        act_button("Reset", "reset", disabled_because=why_not(job, RESET, may_act=may_act), grave=True),
        act_button("Delete document", "delete", disabled_because=gone if may_act else MAY_ONLY_LOOK, grave=True),
    ]
