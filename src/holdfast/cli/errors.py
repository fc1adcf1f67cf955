"""`holdfast errors`: what fails, how often, and whether trying again helps."""

from enum import StrEnum
from typing import Annotated

import typer

from holdfast.cli.columns import Column, count, dollars, identity, plain, rate, since
from holdfast.cli.examples import epilog
from holdfast.cli.formats import text
from holdfast.cli.options import Days, Json, Limit
from holdfast.cli.output import answer, print_table
from holdfast.cli.running import run

errors = typer.Typer(rich_markup_mode=None)

NO_ERRORS = "no errors in the last {days} days"


class Grouping(StrEnum):
    """What errors can be grouped by."""

    CATEGORY = "category"
    COMPONENT = "component"
    PLATFORM = "platform"
    FINGERPRINT = "fingerprint"
    ORGANISATION = "organisation"


By = Annotated[Grouping, typer.Option("--by", help="Group them by this.")]
Times = Annotated[int, typer.Option("--times", min=1, help="Failed at least this often in the same way.")]


@errors.callback(invoke_without_command=True)
def by(context: typer.Context, by: By = Grouping.CATEGORY, days: Days = 7, as_json: Json = False) -> None:
    """What failed lately, in groups, the largest first.

    --by fingerprint puts failures with one cause together; retry them as one with: holdfast retry --fingerprint KEY
    """
    if context.invoked_subcommand is not None:
        return
    rows = run(lambda app: app.overview.errors_by(by.value, days=days), as_json=as_json)
    columns = (plain(by.value.upper(), "key"), *GROUP_COLUMNS)
    answer(rows, as_json=as_json, render=lambda: print_table(columns, rows, empty=NO_ERRORS.format(days=days)))


@errors.command(epilog=epilog("errors top"))
def top(limit: Limit = 20, days: Days = 7, as_json: Json = False) -> None:
    """The documents with the most failures, each with its newest."""
    rows = run(lambda app: app.overview.top_failing(limit, days=days), as_json=as_json)
    answer(rows, as_json=as_json, render=lambda: print_table(TOP_COLUMNS, rows, empty=NO_ERRORS.format(days=days)))


@errors.command(epilog=epilog("errors recovery"))
def recovery(days: Days = 7, as_json: Json = False) -> None:
    """How often a retry recovers, by category.

    The most hopeless category comes first.
    """
    rows = run(lambda app: app.overview.recovery_by_category(days), as_json=as_json)
    empty = f"nothing was retried in the last {days} days"
    answer(rows, as_json=as_json, render=lambda: print_table(RECOVERY_COLUMNS, rows, empty=empty))


@errors.command(epilog=epilog("errors repeat"))
def repeat(times: Times = 3, days: Days = 30, as_json: Json = False) -> None:
    """Documents that fail again and again in the same way.

    A bug, most likely.
    """
    rows = run(lambda app: app.overview.repeat_offenders(times, days=days), as_json=as_json)
    empty = f"no document failed {times} times in the same way in the last {days} days"
    answer(rows, as_json=as_json, render=lambda: print_table(REPEAT_COLUMNS, rows, empty=empty))


@errors.command(epilog=epilog("errors refusals"))
def refusals(days: Days = 7, as_json: Json = False) -> None:
    """How often budgets refused, day by day."""
    rows = run(lambda app: app.overview.budget_refusals(days), as_json=as_json)
    empty = f"no budget refused anything in the last {days} days"
    answer(rows, as_json=as_json, render=lambda: print_table(REFUSAL_COLUMNS, rows, empty=empty))


GROUP_COLUMNS = (
    count("ERRORS", "errors"),
    count("CHARGED", "charged"),
    count("DOCUMENTS", "documents"),
    since("LAST", "last_at"),
    Column(title="EXAMPLE", cell=lambda row: f"{text(row['component'])}: {text(row['example'])}", flexible=True),
)
TOP_COLUMNS = (
    identity("DOCUMENT", "document_id"),
    plain("ORG", "organisation"),
    count("ERRORS", "errors"),
    since("LAST", "last_at"),
    plain("STANDING", "failure_state"),
    plain("CATEGORY", "category"),
    plain("NAME", "source_name", flexible=True),
    plain("ERROR", "error", flexible=True),
)
RECOVERY_COLUMNS = (
    plain("CATEGORY", "category"),
    count("RETRIES", "retries"),
    count("RECOVERED", "recovered"),
    rate("RATE", "recovery_rate"),
)
REPEAT_COLUMNS = (
    identity("DOCUMENT", "document_id"),
    plain("ORG", "organisation"),
    count("TIMES", "times"),
    since("LAST", "last_at"),
    plain("COMPONENT", "component"),
    plain("CATEGORY", "category"),
    plain("FINGERPRINT", "fingerprint"),
    plain("ERROR", "error", flexible=True),
)
REFUSAL_COLUMNS = (
    Column(title="DAY", cell=lambda row: str(row["day"])),
    plain("BUDGET", "name"),
    plain("ORG", "organisation", absent="all others"),
    count("REFUSED", "refusals"),
    dollars("LIMIT", "limit_usd"),
    dollars("SPENT", "spent_usd"),
)
