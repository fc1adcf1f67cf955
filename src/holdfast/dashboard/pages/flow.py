"""Flow: the phases of every pipeline as they follow each other. One look says where it jams."""

from collections import defaultdict
from datetime import UTC, datetime
from typing import TypeAlias

from fastapi import Request
from markupsafe import Markup

from holdfast.dashboard.frame import framed, page
from holdfast.dashboard.live import Panel
from holdfast.dashboard.markup import Content, join, link, tag
from holdfast.dashboard.sparkline import sparkline
from holdfast.dashboard.words import breakable, count, duration, figure, nothing_yet, share
from holdfast.engine.overview import Overview, Row

WINDOW_SECONDS = 900
BUCKET_SECONDS = 30
OLD_SECONDS = 60.0

NOTHING_LATELY = ([0] * (WINDOW_SECONDS // BUCKET_SECONDS),) * 2
Curves: TypeAlias = dict[tuple[str, str], tuple[list[int], list[int]]]


@page("/", title="Flow · Holdfast")
async def flow(request: Request) -> None:
    """The page."""
    with framed(request, "/") as viewer:
        key = ("flow", viewer.organisation)
        await Panel(lambda: viewer.shared.get(key, lambda: _drawn(viewer.app.overview))).show()


async def _drawn(overview: Overview) -> Markup:
    health, queues = await overview.health(), await overview.queues()
    lately = _lately(await overview.flow(WINDOW_SECONDS, BUCKET_SECONDS))
    return join([_summary(health), _problems(health), _pipelines(queues, lately)])


def _summary(health: Row) -> Markup:
    return tag(
        "section",
        figure(count(health["queued"]), "queued"),
        figure(count(health["working"]), "working", kind="working" if health["working"] else ""),
        figure(count(health["failed"]), "failed", kind="failed" if health["failed"] else ""),
        figure(count(health["held"]), "held", kind="held" if health["held"] else ""),
        figure(count(health["deadletter"]), "given up", kind="deadletter" if health["deadletter"] else ""),
        figure(count(health["workers"]), "workers"),
        figure(share(health["error_rate"]), "failed in the last hour"),
        class_="figures",
    )


def _problems(health: Row) -> Markup | None:
    if not health["problems"]:
        return None
    return tag("ul", [tag("li", words) for words in health["problems"]], class_="problems", role="alert")


def _pipelines(queues: list[Row], lately: Curves) -> Content:
    if not queues:
        return nothing_yet("No pipeline is known yet.", "Start a worker: ", tag("code", "holdfast worker"))
    pipelines: dict[str, list[Row]] = defaultdict(list)
    for row in queues:
        pipelines[row["pipeline"]].append(row)
    return [
        tag("section", tag("h2", name), tag("ol", [_phase(row, lately) for row in rows], class_="phases"))
        for name, rows in pipelines.items()
    ]


def _phase(row: Row, lately: Curves) -> Markup:
    completed, failed = lately.get((row["pipeline"], row["phase"]), NOTHING_LATELY)
    jobs = f"/jobs?pipeline={row['pipeline']}&phase={row['phase']}&state="
    chips = [
        link(f"{jobs}{state}", tag("b", count(row[state])), f" {word}", class_=f"chip {state}")
        for state, word in (("working", "working"), ("failed", "failed"), ("held", "held"), ("deadletter", "given up"))
        if row[state]
    ]
    lines = sparkline(completed, failed, caption=f"{sum(completed)} completed, {sum(failed)} failed in 15 minutes")
    return tag(
        "li",
        tag("h3", breakable(row["phase"])),
        link(f"{jobs}queued", tag("b", count(row["queued"])), " queued", class_="queued"),
        tag("p", _pace(row, completed), class_="pace"),
        lines,
        tag("div", chips, class_="chips"),
        class_=f"phase {_condition(row)}".strip(),
    )


def _pace(row: Row, completed: list[int]) -> str:
    if row["queued"] and not row["workers"]:
        return "no worker runs it"
    oldest = row["oldest_queued_seconds"]
    waits = f"oldest {duration(oldest)} · " if oldest is not None else ""
    workers = "1 worker" if row["workers"] == 1 else f"{row['workers']} workers"
    rate = sum(completed) / (WINDOW_SECONDS / 60)
    return f"{waits}{workers}" + (f" · {rate:.1f}/min" if rate else "")


def _condition(row: Row) -> str:
    """What the card's edge says: it is jammed, it is slow, or all is well."""
    if row["queued"] and not row["workers"]:
        return "jammed"
    return "slow" if (row["oldest_queued_seconds"] or 0) > OLD_SECONDS else ""


def _lately(rows: list[Row]) -> Curves:
    """For each phase two lists of numbers, the oldest first: one for every stretch of time up to now."""
    now = datetime.now(UTC).timestamp() // BUCKET_SECONDS
    stretches = WINDOW_SECONDS // BUCKET_SECONDS
    curves: Curves = {}
    for row in rows:
        completed, failed = curves.setdefault((row["pipeline"], row["phase"]), ([0] * stretches, [0] * stretches))
        place = stretches - 1 - int(now - row["bucket_at"].timestamp() // BUCKET_SECONDS)
        if 0 <= place < stretches:
            completed[place], failed[place] = row["completed"], row["failed"]
    return curves
