"""`holdfast status`, `queues`, `workers` and `policies`: where everything stands."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli import options
from holdfast.cli.columns import Column, Row, count, lasting, plain, since
from holdfast.cli.formats import NOTHING, duration, number, text
from holdfast.cli.output import answer, print_table
from holdfast.cli.running import reported, run
from holdfast.cli.standing import print_standing
from holdfast.errors import NotFound

if TYPE_CHECKING:
    from holdfast.app import App

PolicyName = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only this policy.", show_default=False)]

NO_PIPELINE = "no pipeline is registered yet: a worker registers its own, start one with: holdfast worker"


def status(as_json: options.Json = False) -> None:
    """The whole at a glance.

    What needs someone, what waits, what is stuck and what failed last.
    """

    async def ask(app: "App") -> dict[str, Any]:
        health, processing = await app.overview.health(), await app.overview.processing_status()
        takeovers = [takeover for takeover in await app.takeovers() if takeover["undone_at"] is None]
        return {"health": health, **processing, "takeovers": takeovers}

    standing = run(ask, as_json=as_json)
    answer(standing, as_json=as_json, render=lambda: print_standing(standing))


def queues(as_json: options.Json = False) -> None:
    """How many jobs wait, work or need someone, phase by phase."""
    rows = run(lambda app: app.overview.queues(), as_json=as_json)
    answer(rows, as_json=as_json, render=lambda: print_table(QUEUES, rows, empty=NO_PIPELINE))


def workers(as_json: options.Json = False) -> None:
    """Every worker known, and what it has in hand."""
    rows = run(lambda app: app.overview.workers(), as_json=as_json)
    empty = "no worker has run in the last 7 days: start one with: holdfast worker"
    answer(rows, as_json=as_json, render=lambda: print_table(WORKERS, rows, empty=empty))


def policies(name: PolicyName = None, as_json: options.Json = False) -> None:
    """What each category of failure leads to, as it is in force now."""
    with reported(as_json=as_json):
        every = run(lambda app: app.overview.policies(), as_json=as_json)
        rows = [row for row in every if name in (None, row["policy"])]
        if name is not None and not rows:
            known = ", ".join(dict.fromkeys(row["policy"] for row in every)) or "none is registered"
            raise NotFound(f'there is no policy "{name}": name one of {known}')
    answer(rows, as_json=as_json, render=lambda: print_table(POLICIES, rows, empty=NO_PIPELINE))


def _lanes(row: Row) -> str:
    return text(", ".join(f"{lane['pipeline']}/{lane['phase']} ({lane['limit']})" for lane in row["lanes"]))


def _waits(row: Row) -> str:
    waits: Iterable[float] = row["wait_seconds"]
    return ", ".join(duration(seconds) if seconds else "at once" for seconds in waits) or NOTHING


def _retries(row: Row) -> str:
    return "without end" if row["max_retries"] is None else number(row["max_retries"])


QUEUES = (
    plain("PIPELINE", "pipeline"),
    plain("PHASE", "phase"),
    count("QUEUED", "queued"),
    count("WORKING", "working"),
    count("FAILED", "failed"),
    count("HELD", "held"),
    count("DEAD LETTER", "deadletter"),
    lasting("OLDEST WAITS", "oldest_queued_seconds"),
    count("WORKERS", "workers"),
)
WORKERS = (
    plain("WORKER", "worker_id"),
    plain("CONDITION", "condition"),
    count("JOBS", "working"),
    since("STARTED", "started_at"),
    since("SEEN", "seen_at"),
    Column(title="SERVES", cell=_lanes, flexible=True),
)
POLICIES = (
    plain("POLICY", "policy"),
    plain("CATEGORY", "category"),
    Column(title="COUNTS", cell=lambda row: "yes" if row["charged"] else "no"),
    Column(title="RETRIES", cell=_retries, right=True),
    Column(title="WAITS", cell=_waits),
    count("PER DOCUMENT", "document_limit"),
    plain("HOLDS", "holds", flexible=True),
)
