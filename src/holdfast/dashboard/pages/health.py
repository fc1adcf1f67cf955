"""Health: who works, what stands still, whether the records are sound, and what operators did."""

from fastapi import Request
from markupsafe import Markup

from holdfast.dashboard.asking import confirmed, told
from holdfast.dashboard.frame import framed, page
from holdfast.dashboard.health.doctor import Doctor
from holdfast.dashboard.health.running import backlog, stuck, workers
from holdfast.dashboard.health.upkeep import audit, database, policies
from holdfast.dashboard.live import Panel
from holdfast.dashboard.markup import Content, join, tag
from holdfast.dashboard.viewer import Viewer
from holdfast.dashboard.words import count, duration, figure, share
from holdfast.engine.overview import STUCK_MINUTES, Overview, Row

SLOW_SECONDS = 10.0
AUDIT_ENTRIES = 30


@page("/health", title="Health · Holdfast")
async def health(request: Request) -> None:
    """The page."""
    with framed(request, "/health") as viewer:
        viewer.require_operator()
        shared, overview = viewer.shared, viewer.app.overview
        lively = Panel(lambda: shared.get("health", lambda: _lively(overview)))
        await lively.show()
        taking = Panel(lambda: shared.get(("stuck", viewer.may_act), lambda: _stuck(viewer)))
        await taking.on_act(lambda _: _requeue(viewer)).show()
        Doctor(viewer)
        slow = Panel(lambda: shared.get("upkeep", lambda: _slow(overview), seconds=SLOW_SECONDS))
        await slow.show(every=SLOW_SECONDS)


async def _lively(overview: Overview) -> Markup:
    whole = await overview.health()
    return join([_summary(whole), workers(await overview.workers())])


async def _stuck(viewer: Viewer) -> Markup:
    return stuck(await viewer.app.overview.stuck(STUCK_MINUTES), allowed=viewer.may_act)


async def _slow(overview: Overview) -> Markup:
    return join(
        [
            database(await overview.database()),
            backlog(await overview.backlog()),
            policies(await overview.policies()),
            audit(await overview.audit(AUDIT_ENTRIES)),
        ]
    )


def _summary(whole: Row) -> Content:
    problems = whole["problems"]
    figures = tag(
        "section",
        figure(count(len(problems)), "problems", kind="held" if problems else "good"),
        figure(count(whole["workers"]), "workers alive"),
        figure(count(whole["working"]), "jobs in hand"),
        figure(count(whole["stuck"]), "stuck", kind="failed" if whole["stuck"] else ""),
        figure(duration(whole["oldest_queued_seconds"]), "oldest waits"),
        figure(share(whole["error_rate"]), "failed in the last hour"),
        figure(count(whole["holds"]), "holds", kind="held" if whole["holds"] else ""),
        class_="figures",
    )
    if not problems:
        return figures
    return [tag("ul", [tag("li", words) for words in problems], class_="problems", role="alert"), figures]


async def _requeue(viewer: Viewer) -> None:
    explanation = "Their workers lose them and stop; each starts its phase again elsewhere, without losing a retry."
    if not viewer.may_act or not await confirmed("Take all stuck jobs back?", explanation, verb="Take back"):
        return

    async def requeue() -> str:
        taken = await viewer.control.requeue_stuck(minutes=STUCK_MINUTES)
        return f"{count(len(taken))} jobs are queued again."

    await told(requeue)
