"""`holdfast stats`: how much, how long, how dear, and what piles up."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import typer

from holdfast.cli.columns import Column, Row, count, dollars, lasting, plain, rate
from holdfast.cli.examples import epilog
from holdfast.cli.options import Days, Hours, Json
from holdfast.cli.output import answer, print_table
from holdfast.cli.running import run

if TYPE_CHECKING:
    from holdfast.engine.overview import Overview

stats = typer.Typer(rich_markup_mode=None, no_args_is_help=True)


@stats.callback()
def about() -> None:
    """How much, how long, how dear, and what piles up."""


@stats.command(epilog=epilog("stats throughput"))
def throughput(hours: Hours = 24, as_json: Json = False) -> None:
    """Attempts that ended, hour by hour and phase by phase."""
    _print(THROUGHPUT, lambda overview: overview.throughput(hours), empty=_idle(f"{hours} hours"), as_json=as_json)


@stats.command(epilog=epilog("stats durations"))
def durations(hours: Hours = 24, as_json: Json = False) -> None:
    """How long completed attempts took, phase by phase."""
    _print(DURATIONS, lambda overview: overview.durations(hours), empty=_idle(f"{hours} hours"), as_json=as_json)


@stats.command(epilog=epilog("stats costs"))
def costs(days: Days = 7, as_json: Json = False) -> None:
    """What was spent by whom on what, the dearest first; wasted is what attempts cost that did not complete."""
    empty = f"nothing was spent in the last {days} days: see holdfast stats throughput for what ran"
    _print(COSTS, lambda overview: overview.costs(days), empty=empty, as_json=as_json)


@stats.command(epilog=epilog("stats platforms"))
def platforms(days: Days = 7, as_json: Json = False) -> None:
    """How many attempts failed, by where their documents came from."""
    empty = _idle(f"{days} days")
    _print(PLATFORMS, lambda overview: overview.failure_rate_by_platform(days), empty=empty, as_json=as_json)


@stats.command(epilog=epilog("stats retries"))
def retries(days: Days = 7, as_json: Json = False) -> None:
    """How often phases failed, were tried again, and then succeeded."""
    empty = f"nothing failed in the last {days} days: see holdfast stats throughput for what ran"
    _print(RETRIES, lambda overview: overview.retries(days), empty=empty, as_json=as_json)


@stats.command(epilog=epilog("stats backlog"))
def backlog(as_json: Json = False) -> None:
    """What waits before each phase, since when, and whether it is becoming more."""
    _print(BACKLOG, lambda overview: overview.backlog(), empty=_idle("hour"), as_json=as_json)


def _print(
    columns: Sequence[Column],
    ask: "Callable[[Overview], Awaitable[Sequence[Row]]]",
    *,
    empty: str,
    as_json: bool,
) -> None:
    rows = run(lambda app: ask(app.overview), as_json=as_json)
    answer(rows, as_json=as_json, render=lambda: print_table(columns, rows, empty=empty))


def _idle(since: str) -> str:
    return f"nothing happened in the last {since}: is a worker running? see holdfast status"


THROUGHPUT = (
    Column(title="HOUR", cell=lambda row: f"{row['hour']:%Y-%m-%d %H:00Z}"),
    plain("PIPELINE", "pipeline"),
    plain("PHASE", "phase"),
    count("COMPLETED", "completed"),
    count("FAILED", "failed"),
    count("UNCHARGED", "uncharged"),
)
DURATIONS = (
    plain("PIPELINE", "pipeline"),
    plain("PHASE", "phase"),
    count("COMPLETED", "completed"),
    lasting("HALF BELOW", "p50_seconds"),
    lasting("95 % BELOW", "p95_seconds"),
    lasting("LONGEST", "max_seconds"),
)
COSTS = (
    plain("ORG", "organisation"),
    plain("PLATFORM", "platform"),
    plain("PIPELINE", "pipeline"),
    plain("PHASE", "phase"),
    count("ATTEMPTS", "attempts"),
    dollars("COST", "cost_usd"),
    dollars("WASTED", "wasted_usd"),
)
PLATFORMS = (
    plain("PLATFORM", "platform"),
    count("ATTEMPTS", "attempts"),
    count("FAILED", "failed"),
    rate("RATE", "failure_rate"),
)
RETRIES = (
    plain("PIPELINE", "pipeline"),
    plain("PHASE", "phase"),
    count("FAILURES", "failures"),
    count("RETRIES", "retries"),
    count("RECOVERED", "recovered"),
    rate("RATE", "recovery_rate"),
    lasting("USUAL WAIT", "average_wait_seconds"),
)
BACKLOG = (
    plain("PIPELINE", "pipeline"),
    plain("PHASE", "phase"),
    count("QUEUED", "queued"),
    lasting("OLDEST", "oldest_queued_seconds"),
    count("ARRIVED/H", "arrived_last_hour"),
    count("DONE/H", "completed_last_hour"),
    Column(title="GROWTH/H", cell=lambda row: f"{row['growth_last_hour']:+,}", right=True),
)
