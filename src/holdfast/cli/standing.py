"""Prints how the whole stands."""

from typing import TYPE_CHECKING, Any

from holdfast.cli.columns import Row, count, plain
from holdfast.cli.formats import duration, number, share, text
from holdfast.cli.output import emit, print_table

if TYPE_CHECKING:
    from rich.text import Text

QUEUES = (
    plain("PHASE", "phase"),
    count("QUEUED", "queued"),
    count("WORKING", "processing"),
    count("FAILED", "failed"),
)
STUCK = (plain("DOCUMENT", "document"), plain("PHASE", "phase"), count("MINUTES", "minutes"))
FAILURES = (plain("DOCUMENT", "document"), plain("PHASE", "phase"), plain("ERROR", "error", flexible=True))


def print_standing(standing: dict[str, Any]) -> None:
    """What needs someone first, then the figures, then the lists that explain them."""
    health = standing["health"]
    emit(_verdict(health), *(f"  ! {problem}" for problem in health["problems"]), *_figures(health))
    if standing["takeovers"]:
        emit(*(_takeover(takeover) for takeover in standing["takeovers"]))
    rows = [{"phase": phase, **counts} for phase, counts in standing["queues"].items()]
    print_table(
        QUEUES, rows, title="Queues", empty="no pipeline is registered yet: start a worker with: holdfast worker"
    )
    if standing["stuck_jobs"]:
        print_table(STUCK, standing["stuck_jobs"], title="Stuck", empty="")
    if standing["recent_failures"]:
        print_table(FAILURES, standing["recent_failures"], title="Failed last", empty="")


def _verdict(health: Row) -> "Text":
    from rich.text import Text

    if health["healthy"]:
        return Text("all is well", style="bold green")
    return Text("someone should look at this", style="bold red")


def _takeover(takeover: Row) -> str:
    here, old, left = (number(takeover[name]) for name in ("taken", "old_flow", "left_behind"))
    unfinished = "; not all is read: holdfast takeover --run" if takeover["reading"] else ""
    return f"takeover   {text(takeover['table_name'])}: {here} here, {old} in the old flow, {left} left{unfinished}"


def _figures(health: Row) -> list[str]:
    states = ("queued", "working", "failed", "held", "deadletter")
    now = ", ".join(f"{number(health[state])} {state}" for state in states)
    oldest = health["oldest_queued_seconds"]
    waiting = f"; the oldest waits for {duration(oldest)}" if oldest is not None else ""
    ended = f"{number(health['completed_last_hour'])} completed, {number(health['failed_last_hour'])} failed"
    rate = "" if health["error_rate"] is None else f" ({share(health['error_rate'])})"
    return [
        f"now        {now}{waiting}",
        f"last hour  {ended}{rate}",
        f"workers    {number(health['workers'])} alive; {number(health['holds'])} holds in force",
    ]
