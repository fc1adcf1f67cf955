"""Failures: what failed, grouped by its cause; a group is retried at once, or five of it first."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from holdfast.dashboard.asking import confirmed, outcome, told
from holdfast.dashboard.failures.causes import FIRST_JOBS, causes
from holdfast.dashboard.failures.offenders import documents, platforms, recovery, repeaters
from holdfast.dashboard.frame import framed, page
from holdfast.dashboard.live import Panel
from holdfast.dashboard.markup import join, tag
from holdfast.dashboard.periods import chosen, periods
from holdfast.dashboard.viewer import Viewer
from holdfast.dashboard.words import count, money
from holdfast.engine.control import RETRY, Control, Tally
from holdfast.engine.overview import Row
from holdfast.engine.selection import Selection

CHOICES = (1, 7, 30)
FRESH_SECONDS = 10.0
MOST_CAUSES = 50
MOST_DOCUMENTS = 20
SEEN_ON_THE_PAGE = "seen on the page of failures"

Act: TypeAlias = Callable[[Control, Selection], Awaitable[Tally]]


@page("/failures", title="Failures · Holdfast")
async def failures(request: Request, days: int = 7) -> None:
    """The page."""
    with framed(request, "/failures") as viewer:
        days = chosen(days, CHOICES)
        ui.html(periods("/failures", days, CHOICES), sanitize=False)
        whose = (viewer.organisation, viewer.may_act, days)
        grouped = Panel(lambda: viewer.shared.get(("causes", *whose), lambda: _causes(viewer, days)))
        await grouped.on_act(lambda carried: _act(viewer, grouped, carried)).show()
        worst = Panel(lambda: viewer.shared.get(("worst", *whose), lambda: _worst(viewer, days), seconds=FRESH_SECONDS))
        await worst.on_act(lambda carried: _act_on_document(viewer, worst, carried)).show(every=FRESH_SECONDS)


async def _causes(viewer: Viewer, days: int) -> Markup:
    groups = await viewer.app.overview.failure_groups(days, MOST_CAUSES)
    return causes(groups, _by_cause(await viewer.app.overview.trials()), allowed=viewer.may_act)


def _by_cause(trials: list[Row]) -> dict[str, Row]:
    """The newest trial of each cause; they come the newest first."""
    return {trial["filter"]["fingerprint"]: trial for trial in reversed(trials) if "fingerprint" in trial["filter"]}


async def _worst(viewer: Viewer, days: int) -> Markup:
    overview = viewer.app.overview
    rates = [
        recovery(await overview.recovery_by_category(days)),
        platforms(await overview.failure_rate_by_platform(days)),
    ]
    return join(
        [
            tag("div", rates, class_="columns"),
            documents(await overview.top_failing(MOST_DOCUMENTS, days), allowed=viewer.may_act),
            repeaters(await overview.repeat_offenders(days=days)),
        ]
    )


async def _act(viewer: Viewer, grouped: Panel, carried: dict[str, str]) -> None:
    cause = Selection(fingerprint=carried["cause"])
    if not viewer.may_act:
        return
    if carried["act"] == "try":
        await told(lambda: _tried(viewer, cause))
    elif await confirmed("Retry all that failed with this cause?", await _foreseen(viewer, cause), verb="Retry"):
        await told(lambda: _retried(viewer, cause))
    await grouped.refresh()


async def _tried(viewer: Viewer, cause: Selection) -> str:
    trial = await viewer.control.try_first(cause, first=FIRST_JOBS, reason=SEEN_ON_THE_PAGE)
    return f"{count(len(trial.first_jobs))} are tried. When they pass, the rest follows by itself."


async def _retried(viewer: Viewer, cause: Selection) -> str:
    return outcome(await viewer.control.retry(cause, reason=SEEN_ON_THE_PAGE))


async def _foreseen(viewer: Viewer, cause: Selection) -> Markup:
    """How many there are where, and what they would cost at the prices of late."""
    lines = []
    for group in await viewer.control.preview(RETRY, cause):
        usual = group.usual_cost_usd
        price = "" if usual is None else f", about {money(usual * group.jobs)} at the usual price"
        lines.append(tag("li", f"{count(group.jobs)} {group.state} in {group.pipeline} · {group.phase}{price}"))
    return join([tag("ul", lines), tag("p", "They go on at the phase that failed; what is finished stays.")])


async def _act_on_document(viewer: Viewer, worst: Panel, carried: dict[str, str]) -> None:
    question, explanation, verb, act = DOCUMENT_ACTS[carried["act"]]
    if viewer.may_act and await confirmed(question, explanation, verb=verb):
        await told(lambda: _acted(viewer, int(carried["document"]), act))
        await worst.refresh()


async def _acted(viewer: Viewer, document_id: int, act: Act) -> str:
    jobs = (await viewer.app.overview.pipeline_of(document_id))["jobs"]
    failed = tuple(job["job_id"] for job in jobs if job["state"] in RETRY.usual_states)
    if not failed:
        return "It does not stand failed any more: there was nothing to do."
    return outcome(await act(viewer.control, Selection(ids=failed)))


DOCUMENT_ACTS: dict[str, tuple[str, str, str, Act]] = {
    "retry": (
        "Retry this document?",
        "Its jobs go on at the phase that failed, with new patience; what is finished stays.",
        "Retry",
        lambda control, jobs: control.retry(jobs, reason=SEEN_ON_THE_PAGE),
    ),
    "reset": (
        "Start this document over?",
        "Its failures are forgotten and its jobs begin with their first phase. What that costs is paid again.",
        "Start over",
        lambda control, jobs: control.reset(jobs, reason=SEEN_ON_THE_PAGE),
    ),
}
