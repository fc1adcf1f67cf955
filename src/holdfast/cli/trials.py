"""`holdfast trials`: what was tried on a few jobs before the rest."""

from typing import TYPE_CHECKING

from holdfast.cli import options
from holdfast.cli.columns import Column, Row, count, identity, plain, since
from holdfast.cli.formats import plural, text
from holdfast.cli.output import answer, print_table
from holdfast.cli.running import run

if TYPE_CHECKING:
    from holdfast.engine.trial import Trial

EMPTY = "nothing was tried yet; try a few of many with: holdfast retry --fingerprint … --first 5"
EVERYTHING = "everything that failed"


def trials(limit: options.Limit = 20, as_json: options.Json = False) -> None:
    """What was tried on a few jobs before the rest.

    A trial passes when they get past the phase they had failed in: then the rest is retried, by any worker that runs.
    It stops when one of them fails there again.
    """
    rows = run(lambda app: app.overview.trials(limit), as_json=as_json)
    answer(rows, as_json=as_json, render=lambda: print_table(COLUMNS, rows, empty=EMPTY))


def print_begun(trial: "Trial", *, as_json: bool) -> None:
    """Which jobs are tried first, and where to look how it went."""
    ids = ", ".join(str(job_id) for job_id in trial.first_jobs)
    answer(
        trial,
        as_json=as_json,
        render=lambda: print(
            f"trial {trial.trial_id}: {plural(len(trial.first_jobs), 'job')} queued again: {ids}; "
            "the rest follows when they get past, see: holdfast trials"
        ),
    )


def _meant(row: Row) -> str:
    return ", ".join(f"{key} {text(str(value))}" for key, value in row["filter"].items()) or EVERYTHING


COLUMNS = (
    identity("TRIAL", "trial_id"),
    plain("STATE", "state"),
    Column(title="FIRST", cell=lambda row: str(len(row["first_jobs"])), right=True),
    count("RETRIED", "retried"),
    plain("BY", "created_by"),
    since("BEGAN", "created_at"),
    since("ENDED", "ended_at"),
    Column(title="OF", cell=_meant, flexible=True),
    plain("WHY", "why", flexible=True),
)
