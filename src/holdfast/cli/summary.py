"""Sums an ingestion up: what came in, what came of it, what it took, and what to do about what failed."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from holdfast.cli.columns import count, dollars, lasting, plain
from holdfast.cli.formats import duration, money, number, plural, text
from holdfast.cli.output import emit, heading, print_table
from holdfast.engine.fault import is_fault_of_the_file
from holdfast.pipelines import CONFIGS

if TYPE_CHECKING:
    from rich.console import RenderableType

PHASES = (
    plain("PHASE", "phase"),
    count("DONE", "completed"),
    count("FAILED", "failed"),
    lasting("TIME", "seconds"),
    dollars("COST", "cost_usd"),
)
RESULTS = {
    "created": "new or changed",
    "unchanged": "unchanged",
    "duplicate": "duplicate",
    "existing": "under way already",
    "permanent_failure": "failed for good before",
    "too_large": "too large",
    "unreadable": "unreadable",
    "without_room": "without room",
}
FIELD_WIDTH = 11
INDENT = 2
# A thousand failures mostly have one cause, which other commands show better than a list.
MOST_LISTED = 20


def print_summary(summary: dict[str, Any]) -> None:
    """What came in first, what needs someone last."""
    emit(*_head(summary))
    if summary["phases"]:
        print_table(PHASES, summary["phases"], title="Phases", empty="")
    _list_runs(summary["pipeline"], summary["runs"])
    _list("Warnings", [(row["source_name"], [row["message"]]) for row in summary["warnings"]])
    _list("Settings", [(doubt, []) for doubt in summary["doubts"]])
    _list("Waiting", [(_job(row), [row["next"]]) for row in summary["waiting"]])
    _list("Not taken in", [(row["name"], [row["reason"]]) for row in summary["refused"]])
    _list(
        "Unchanged since they failed",
        [(f"{row['name']} · job {row['job_id']}", [f"next: {row['next']}"]) for row in summary["failed_before"]],
    )
    _list("Failed", [_failure(row) for row in summary["failures"]])
    _advise(summary)


def _list_runs(pipeline: str, runs: list[dict[str, Any]]) -> None:
    what = "run" if pipeline == CONFIGS else "document"
    entries = [(f"{row['name']} · {what} {row['run']}", [f"holdfast {pipeline} show {row['run']}"]) for row in runs]
    _list("Runs" if pipeline == CONFIGS else pipeline.capitalize(), entries)


def _head(summary: dict[str, Any]) -> "Iterator[RenderableType]":
    taken = [f"{number(amount)} {RESULTS[result]}" for result, amount in summary["taken_in"].items()]
    states = [f"{number(amount)} {state}" for state, amount in summary["states"].items()]
    yield _field("taken in", ", ".join(taken) or "nothing")
    if summary["metadata_merged"]:
        yield _field("metadata", f"merged into {plural(summary['metadata_merged'], 'document')} known already")
    if any(summary["left_out"].values()):
        yield _field("left out", ", ".join(_left_out(**summary["left_out"])))
    yield _field("documents", ", ".join(states) or "nothing to do")
    knowledge = summary["knowledge"]
    if knowledge["chunks"]:
        entities = "1 entity" if knowledge["entities"] == 1 else f"{number(knowledge['entities'])} entities"
        parts = (plural(knowledge["chunks"], "chunk"), plural(knowledge["embeddings"], "vector"), entities)
        yield _field("knowledge", f"{', '.join(parts)}, {plural(knowledge['relations'], 'relation')}")
    cost = sum(row["cost_usd"] for row in summary["phases"])
    yield _field("took", f"{duration(summary['seconds'])}, {money(cost)}")


def _left_out(*, hidden: int, links: int, special: int, own: int) -> "Iterator[str]":
    if hidden:
        yield f"{number(hidden)} hidden"
    if links:
        yield plural(links, "link")
    if special:
        yield plural(special, "special file")
    if own:
        yield f"{plural(own, 'folder')} of Holdfast's own"


def _failure(row: dict[str, Any]) -> tuple[str, list[str]]:
    error = row["last_error"] or {}
    kind = f"{_job(row)} · {row['phase']}: {error.get('category')}"
    return kind, [error.get("error") or "", f"next: {row['next']}"]


def _job(row: dict[str, Any]) -> str:
    return f"{row['source_name']} · job {row['job_id']}"


def _list(title: str, entries: list[tuple[str, list[str]]]) -> None:
    """Each under its name, as wide as the terminal is; whatever does not fit goes on in the next line."""
    if not entries:
        return
    emit(heading(title))
    for name, lines in entries[:MOST_LISTED]:
        emit(_indented(name, by=INDENT, style="bold"), *(_indented(line, by=3 * INDENT) for line in lines))
    if len(entries) > MOST_LISTED:
        emit(_indented(f"and {number(len(entries) - MOST_LISTED)} more", by=INDENT, style="dim"))


def _advise(summary: dict[str, Any]) -> None:
    failed = summary["failures"] or summary["failed_before"]
    advice = []
    if failed:
        advice += [(f"holdfast show {failed[0]['job_id']}", "the whole life of a job")]
    if others := [row for row in failed if not is_fault_of_the_file(row["last_error"])]:
        advice += [(f"holdfast retry {others[0]['job_id']}", "once it is mended")]
    if len(others) < len(failed):
        advice += [("holdfast ingest FILE", "again, once the file is corrected")]
    if len(failed) > 1:
        advice += [("holdfast errors --by fingerprint", "failures by their cause")]
    if summary["interrupted"]:
        advice += [("holdfast worker --drain", "finish what was interrupted, or call ingest again")]
    if advice:
        emit(heading("Next"), *(_field(f"  {command}", what, width=36) for command, what in advice))


def _field(name: str, value: str, *, width: int = FIELD_WIDTH) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    # A grid keeps the value's further lines under its first.
    grid = Table.grid()
    grid.add_column(width=width)
    grid.add_column()
    grid.add_row(Text(name), Text(value))
    return grid


def _indented(value: str, *, by: int, style: str = "") -> "RenderableType":
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(text(value), style=style), (0, 0, 0, by), expand=False)
