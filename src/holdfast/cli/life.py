"""Prints the life of a job: what operators read at three in the morning."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from holdfast.cli.columns import Row
from holdfast.cli.formats import duration, moment, money, number, plural, text, when
from holdfast.cli.output import STYLES, emit, heading
from holdfast.engine.cost import cost_is_open
from holdfast.engine.retries import told_retries

if TYPE_CHECKING:
    from rich.console import RenderableType

MARKS = {
    "completed": "✓",
    "failed": "✗",
    "timeout": "✗",
    "lost": "✗",
    "released": "↩",
    "cancelled": "■",
    "working": "▶",
}
FIELD_WIDTH = 16
INDENT = 6
POSITION_KNOWN = 10_000


def print_lives(jobs: Iterable[Row]) -> None:
    """One job after the other."""
    for place, job in enumerate(jobs):
        if place:
            emit("")
        print_life(job)


def print_life(job: Row) -> None:
    """Where it stands and what comes next, the last error, then every attempt and every operator's act in order."""
    emit(_title(job), *_standing(job))
    if job["last_error"]:
        emit(heading("Last error"), *_error(job["last_error"]))
    emit(heading("Timeline"), *_timeline(job))


def print_warnings(warnings: Iterable[Row]) -> None:
    """What the owner of the document should know, once for all its jobs."""
    # A sender may have written anything into the metadata that they come from.
    told = [f"  {text(warning['message'])}" for warning in warnings if warning["message"] is not None]
    if told:
        emit(heading("Warnings"), *told)


def _title(job: Row) -> "RenderableType":
    from rich.text import Text

    state = job["state"]
    place = f"  {job['pipeline']} / {job['phase']}"
    return Text.assemble((f"job {job['job_id']}", "bold"), "  ", (state, f"bold {STYLES[state]}"), place)


def _standing(job: Row) -> "Iterator[RenderableType]":
    percent = f" ({job['percent']} %)" if job["percent"] is not None and job["percent"] >= 0 else ""
    yield _field("next", text(job["next"]), style="bold")
    if job["queue_position"] is not None:
        yield _field("before it", _before(job["queue_position"]))
    yield _field("status", f"{text(job['status'])}{percent}")
    if job["flow"] == "old":
        yield _field("flow", "old: Holdfast shows it, the old installation carries it", style="magenta")
    yield _field("document", f"{job['document_id']}, {text(job['source_name'])} from {text(job['platform'])}")
    yield _field("organisation", text(job["organisation"]))
    yield _field("submitted", when(job["submitted_at"]))
    if job["finished_at"]:
        yield _field("finished", when(job["finished_at"]))
    at_least = any(cost_is_open(attempt["error"]) for attempt in job["attempts"])
    yield _field("cost", f"{'at least ' if at_least else ''}{money(job['total_cost_usd'])}")
    if job["crash_count"]:
        yield _field("crashes", f"{job['crash_count']} workers died while they had it", style="red")


def _before(position: int) -> str:
    return f"more than {number(POSITION_KNOWN)} jobs" if position > POSITION_KNOWN else plural(position, "job")


def _error(error: dict[str, Any]) -> "Iterator[RenderableType]":
    facts = (error.get("category"), error.get("component"), error.get("error_type"), error.get("error_code"))
    yield _field("kind", ", ".join(text(fact) for fact in facts if fact), style="red")
    yield _field("says", text(error.get("error")))
    yield _field("retries", told_retries(error.get("retry_count") or 0, error.get("max_retries") or 0))
    yield _field("correlation", text(error.get("correlation_id")))


def _timeline(job: Row) -> "Iterator[RenderableType]":
    moments = [(attempt["started_at"], _attempt(attempt)) for attempt in job["attempts"]]
    moments += [(act["at"], _act(act)) for act in job["acts"]]
    if not moments:
        yield "  nothing has run yet"
    for _, lines in sorted(moments, key=lambda pair: pair[0]):
        yield from lines


def _attempt(attempt: Row) -> "list[RenderableType]":
    from rich.text import Text

    outcome = attempt["outcome"]
    line = Text.assemble(
        (f"  {MARKS[outcome]} ", STYLES[outcome]),
        (f"{moment(attempt['started_at'])}  ", "dim"),
        (f"{_ordinal(attempt):<16}", "bold"),
        (f"{outcome:<11}", STYLES[outcome]),
        f"{duration(attempt['seconds']):>12}",
        f"{_cost(attempt):>11}",
        f"  {attempt['progress']:.0%} done" if attempt["progress"] is not None else "",
        (f"  on {text(attempt['worker_id'])}", "dim"),
        no_wrap=True,
        overflow="ellipsis",
    )
    error = attempt["error"]
    kind = f"{attempt['category']}: " if attempt["category"] else ""
    return [line, _indented(f"{kind}{text(error.get('error'))}")] if error else [line]


def _cost(attempt: Row) -> str:
    if cost_is_open(attempt["error"]):
        return f"≥ {money(attempt['cost_usd'])}" if attempt["cost_usd"] else "unknown"
    return money(attempt["cost_usd"]) if attempt["cost_usd"] else ""


def _ordinal(attempt: Row) -> str:
    again = f" #{attempt['attempt']}" if attempt["attempt"] > 1 else ""
    return f"{attempt['phase']}{again}"


def _act(act: Row) -> "list[RenderableType]":
    from rich.text import Text

    why = f": {text(act['reason'])}" if act["reason"] else ""
    line = Text.assemble(
        "  • ", (f"{moment(act['at'])}  ", "dim"), (f"{act['action']} by {text(act['actor'])}{why}", "blue")
    )
    return [line]


def _field(name: str, value: str, *, style: str = "") -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    # A grid keeps the value's further lines under its first.
    grid = Table.grid()
    grid.add_column(width=FIELD_WIDTH)
    grid.add_column()
    grid.add_row(Text(f"  {name}", style="dim"), Text(value, style=style, overflow="fold"))
    return grid


def _indented(value: str) -> "RenderableType":
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(value, style="dim", no_wrap=True, overflow="ellipsis"), (0, 0, 0, INDENT), expand=False)
