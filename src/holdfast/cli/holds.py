"""`holdfast hold` and `release`: keep a scope from being claimed, and let it go."""

import re
from datetime import datetime, timedelta
from typing import Annotated

import typer

from holdfast.cli.columns import Column, Row, count, identity, plain
from holdfast.cli.formats import plural, text, when
from holdfast.cli.options import Json, Reason, an_organisation
from holdfast.cli.output import answer, print_table
from holdfast.cli.running import actor, reported, run
from holdfast.errors import InvalidInput

Provider = Annotated[str | None, typer.Option("--provider", help="Phases that use this provider.")]
Organisation = Annotated[str | None, typer.Option("--org", callback=an_organisation, help="Jobs of this organisation.")]
Pipeline = Annotated[str | None, typer.Option("--pipeline", help="Jobs of this pipeline.")]
Phase = Annotated[str | None, typer.Option("--phase", help="Jobs in this phase.")]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="ISO 8601 with zone: 2026-11-15T18:00Z.")]
For = Annotated[str | None, typer.Option("--for", metavar="DURATION", help="As in 90s, 30m, 2h or 1d.")]
List = Annotated[bool, typer.Option("--list", help="Show the holds in force instead of making one.")]
HoldId = Annotated[int, typer.Argument(metavar="ID", help='The hold, as "hold --list" numbers it.')]

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def hold(
    provider: Provider = None,
    org: Organisation = None,
    pipeline: Pipeline = None,
    phase: Phase = None,
    until: Until = None,
    lasting: For = None,
    reason: Reason = None,
    list_: List = False,
    as_json: Json = False,
) -> None:
    """Keep jobs from being claimed.

    What runs goes on, and nobody loses an attempt. Several scopes narrow each other down. Without --until or --for it
    holds until released.
    """
    if list_:
        _print_holds(as_json=as_json)
        return
    named = {"provider": provider, "organisation": org, "pipeline": pipeline, "phase": phase}
    scope = {name: value for name, value in named.items() if value is not None}
    with reported(as_json=as_json):
        ends_at, after = _moment(until), _duration(lasting)
    why = reason or "held by an operator"
    hold_id = run(
        lambda app: app.control(actor()).hold(scope, until=ends_at, lasting=after, reason=why), as_json=as_json
    )
    answer(
        {"hold_id": hold_id},
        as_json=as_json,
        render=lambda: print(f"hold {hold_id} is in force; end it with: holdfast release {hold_id}"),
    )


def release(hold_id: HoldId, reason: Reason = None, as_json: Json = False) -> None:
    """End a hold. The jobs parked behind it are queued again, and those in the queue go on."""
    waiting = run(lambda app: app.control(actor()).release(hold_id, reason=reason), as_json=as_json)
    answer(
        {"hold_id": hold_id, "waiting_jobs": waiting},
        as_json=as_json,
        render=lambda: print(f"hold {hold_id} is released; {plural(waiting, 'job')} parked behind it"),
    )


def _moment(until: str | None) -> datetime | None:
    if until is None:
        return None
    try:
        at = datetime.fromisoformat(until)
    except ValueError:
        raise InvalidInput(f'--until "{until}" is no time: write it like 2026-11-15T18:00Z') from None
    if at.tzinfo is None:
        raise InvalidInput(f'--until "{until}" names no zone: add Z for UTC, or an offset like +01:00')
    return at


def _duration(lasting: str | None) -> timedelta | None:
    if lasting is None:
        return None
    match = re.fullmatch(r"(\d{1,6})([smhd])", lasting)
    if match is None:
        raise InvalidInput(f'--for "{lasting}" is no duration: write it like 90s, 30m, 2h or 1d')
    return timedelta(**{UNITS[match[2]]: int(match[1])})


def _print_holds(*, as_json: bool) -> None:
    holds = run(lambda app: app.overview.holds(), as_json=as_json)
    empty = "nothing is held: claims go by priority and turn"
    answer(holds, as_json=as_json, render=lambda: print_table(HOLD_COLUMNS, holds, empty=empty))


def _scope(row: Row) -> str:
    names = ("provider", "organisation", "pipeline", "phase", "budget")
    return ", ".join(f"{name} {text(row[name])}" for name in names if row[name] is not None)


def _end(row: Row) -> str:
    return "when released" if row["until"] is None else when(row["until"])


HOLD_COLUMNS = (
    identity("HOLD", "hold_id"),
    Column(title="SCOPE", cell=_scope),
    Column(title="ENDS", cell=_end),
    count("PARKED", "parked_jobs"),
    plain("BY", "created_by"),
    plain("REASON", "reason", flexible=True),
)
