"""The life of a job, phase by phase: every attempt, the waits between them, and what is still to come."""

from datetime import timedelta

from markupsafe import Markup

from holdfast.dashboard.acts import act_button
from holdfast.dashboard.jobs.head import why_not
from holdfast.dashboard.markup import tag
from holdfast.dashboard.tables import folded
from holdfast.dashboard.words import badge, duration, moment, money
from holdfast.engine.control import RETRY
from holdfast.engine.cost import cost_is_open
from holdfast.engine.overview import Row

WORTH_TELLING_SECONDS = 1.0
NO_FAILURE = ("released", "cancelled")
ENDED = ("done", "cancelled", "deadletter")


def timeline(job: Row, phases: list[Row], *, may_act: bool, tracebacks: bool) -> Markup:
    """The phases of the job's pipeline in their order. Tracebacks are for operators."""
    waits = _waits(job["attempts"])
    longest = max((attempt["seconds"] for attempt in job["attempts"]), default=0.0)
    names = [phase["name"] for phase in phases]
    here = names.index(job["phase"]) if job["phase"] in names else len(names)
    items = []
    for place, phase in enumerate(phases):
        own = [attempt for attempt in job["attempts"] if attempt["phase"] == phase["name"]]
        if phase["retired"] and not own:
            continue
        drawn = [_attempt(one, waits[one["token"]], longest, tracebacks=tracebacks) for one in own]
        coming = _coming(job) if place == here else []
        again = place <= here and why_not(job, RETRY, may_act=may_act) is None
        items.append(
            _phase(phase["name"], [*drawn, *coming], condition=_condition(job, place - here, own), again=again)
        )
    return tag("section", tag("h2", "Phases"), tag("ol", items, class_="card timeline"))


def _phase(name: str, drawn: list[Markup], *, condition: str, again: bool) -> Markup:
    button = act_button("Retry from here", "retry-from", phase=name) if again else None
    attempts = drawn or [tag("p", "not reached yet", class_="faint")]
    named = tag("div", tag("h3", name), button, class_="phase-name")
    return tag("li", named, tag("div", attempts), class_=condition)


def _condition(job: Row, from_here: int, attempts: list[Row]) -> str:
    """How a phase stands: passed, here, stopped or ahead."""
    if from_here < 0 or job["state"] == "done":
        return "passed" if attempts else "ahead"
    if from_here > 0:
        return "ahead"
    return "stopped" if job["percent"] < 0 or job["state"] in ENDED else "here"


def _waits(attempts: list[Row]) -> dict[int, timedelta | None]:
    """How long the job waited before each attempt, by its token. Before the first, nothing is known."""
    before = [None, *(attempt["ended_at"] for attempt in attempts)]
    return {
        attempt["token"]: attempt["started_at"] - ended if ended else None
        for attempt, ended in zip(attempts, before, strict=False)
    }


def _attempt(attempt: Row, waited: timedelta | None, longest: float, *, tracebacks: bool) -> Markup:
    width = max(1.0, 100 * attempt["seconds"] / longest) if longest else 1.0
    bad = attempt["outcome"] in ("failed", "timeout", "lost")
    bar = tag("span", tag("i", style=f"width:{width:.1f}%", class_="bad" if bad else None), class_="bar-track")
    at_least = "≥ " if cost_is_open(attempt["error"]) else ""
    figures = (duration(attempt["seconds"]), f"{at_least}{money(attempt['cost_usd'])}")
    told = [
        badge(attempt["outcome"]),
        tag("span", _which(attempt), class_="faint"),
        tag("span", moment(attempt["started_at"])),
        tag("span", bar, [tag("span", figure, class_="number") for figure in figures], class_="took"),
    ]
    wait = waited.total_seconds() if waited else 0.0
    pause = tag("p", f"waited {duration(wait)}", class_="wait") if wait >= WORTH_TELLING_SECONDS else None
    error = _error(attempt, tracebacks=tracebacks) if attempt["error"] else None
    return tag("div", pause, tag("div", told, class_="attempt"), error)


def _which(attempt: Row) -> str:
    run = f", run {attempt['run']}" if attempt["run"] > 1 else ""
    return f"attempt {attempt['attempt']}{run}"


def _error(attempt: Row, *, tracebacks: bool) -> Markup:
    error = attempt["error"]
    if attempt["outcome"] in NO_FAILURE:
        return tag("p", error.get("error"), class_="wait")
    kind = [attempt["category"], error.get("component"), error.get("error_code")]
    trace = (error.get("details") or {}).get("traceback") if tracebacks else None
    return tag(
        "div",
        tag("p", error.get("error"), class_="said"),
        tag("p", " · ".join(part for part in kind if part), class_="faint"),
        folded(f"trace {attempt['token']}", "Traceback", tag("pre", trace)) if trace else None,
        class_="failure",
    )


def _coming(job: Row) -> list[Markup]:
    """What comes after the attempts of the phase where the job stands."""
    if job["state"] in ("failed", "held") and job["retry_at"]:
        return [tag("p", "tries again ", moment(job["retry_at"]), class_="wait")]
    if job["state"] == "queued":
        return [tag("p", "in the queue since ", moment(job["queued_at"]), class_="wait")]
    return []
