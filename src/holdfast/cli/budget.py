"""`holdfast budget`: what may be spent a day, what was, and how to change it."""

from decimal import Decimal, InvalidOperation
from typing import Annotated

import typer

from holdfast.cli.columns import Column, count, dollars, plain
from holdfast.cli.examples import epilog
from holdfast.cli.formats import money, text, when
from holdfast.cli.options import Json, an_organisation
from holdfast.cli.output import answer, print_table
from holdfast.cli.running import actor, reported, run
from holdfast.errors import InvalidInput

budget = typer.Typer(rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The budget, as phases name it.")]
Amount = Annotated[str, typer.Argument(metavar="USD", help="Dollars a day, 0 or more.")]
Organisation = Annotated[
    str | None, typer.Option("--org", callback=an_organisation, help="Only for this organisation; else for all others.")
]
TimeZone = Annotated[str | None, typer.Option("--time-zone", help="Where its day begins, like Europe/Zurich.")]


@budget.callback(invoke_without_command=True)
def show(context: typer.Context, as_json: Json = False) -> None:
    """Show every budget as it stands today, or set one."""
    if context.invoked_subcommand is not None:
        return
    budgets = run(lambda app: app.overview.budgets(), as_json=as_json)
    empty = "there are no budgets yet: set one with: holdfast budget set NAME USD"
    answer(budgets, as_json=as_json, render=lambda: print_table(COLUMNS, budgets, empty=empty))


@budget.command("set", epilog=epilog("budget set"))
def set_(
    name: Name, amount: Amount, org: Organisation = None, time_zone: TimeZone = None, as_json: Json = False
) -> None:
    """Set a budget's daily limit. It holds at once; work that waited for money goes on."""
    with reported(as_json=as_json):
        limit_usd = _dollars(amount)
    run(
        lambda app: app.control(actor()).set_budget(name, limit_usd, organisation=org, time_zone=time_zone),
        as_json=as_json,
    )
    body = {"name": name, "organisation": org, "daily_limit_usd": limit_usd}
    of = f" of {text(org)}" if org else ""
    answer(
        body,
        as_json=as_json,
        render=lambda: print(f"budget {text(name)}{of} is {money(limit_usd)} a day"),
    )


def _dollars(amount: str) -> Decimal:
    try:
        return Decimal(amount)
    except InvalidOperation:
        raise InvalidInput(f'"{amount}" is no amount: write dollars like 5 or 0.50') from None


COLUMNS = (
    plain("BUDGET", "name"),
    plain("ORG", "organisation", absent="all others"),
    dollars("LIMIT", "limit_usd"),
    dollars("SPENT", "spent_usd"),
    dollars("RESERVED", "reserved_usd"),
    dollars("LEFT", "left_usd"),
    dollars("OVERRUN", "overrun_usd"),
    count("REFUSED", "refusals"),
    Column(title="NEXT DAY", cell=lambda row: when(row["resets_at"]), flexible=True),
)
