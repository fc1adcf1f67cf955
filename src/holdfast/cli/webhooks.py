"""`holdfast webhooks`: who is told of what happens, and what became of it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.columns import Column, Row, count, identity, plain, since
from holdfast.cli.formats import text
from holdfast.cli.options import Json, Limit, an_organisation
from holdfast.cli.output import answer, print_table
from holdfast.cli.running import WORK_FAILED, actor, complain, run

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.notices.receivers import NewWebhook

webhooks = typer.Typer(help="Whom to tell of what happens.", no_args_is_help=True)

Url = Annotated[str, typer.Argument(metavar="URL", help="Where to post it, http or https.")]
Events = Annotated[
    list[str] | None, typer.Option("--event", help="Tell it of this only; repeat for several. Default: of everything.")
]
Organisation = Annotated[
    str | None,
    typer.Option(
        "--org",
        callback=an_organisation,
        help="Tell it of this organisation only; default: of all.",
        show_default=False,
    ),
]
Number = Annotated[int, typer.Argument(metavar="ID", help="The number that `webhooks list` shows.")]
DeliveryNumber = Annotated[int, typer.Argument(metavar="DELIVERY", help="The number that `webhooks deliveries` shows.")]
OfReceiver = Annotated[int | None, typer.Option("--receiver", help="Only to this one.")]
State = Annotated[str | None, typer.Option("--state", help="waiting, delivered or given_up.")]


def _events(row: Row) -> str:
    return text(", ".join(row["events"]))


RECEIVERS = (
    identity("ID", "receiver_id"),
    plain("KIND", "kind"),
    plain("ADDRESS", "url", flexible=True),
    plain("ORGANISATION", "organisation"),
    Column(title="EVENTS", cell=_events, flexible=True),
    count("WAITING", "waiting"),
    since("ADDED", "created_at"),
    since("DISABLED", "disabled_at"),
    plain("BECAUSE", "disabled_reason", flexible=True),
)
DELIVERIES = (
    identity("DELIVERY", "delivery_id"),
    identity("TO", "receiver_id"),
    plain("EVENT", "event"),
    plain("STATE", "state"),
    count("TRIES", "attempts"),
    since("HAPPENED", "at"),
    since("LAST TRY", "last_at"),
    plain("ANSWER", "last_answer", flexible=True),
)


@webhooks.command("add")
def add(url: Url, event: Events = None, org: Organisation = None, as_json: Json = False) -> None:
    """Have a webhook told of what happens, and show its secret, this once."""

    async def make(app: "App") -> "NewWebhook":
        from holdfast.errors import InvalidInput
        from holdfast.notices.receivers import Event

        for name in event or ():
            if name not in list(Event):
                raise InvalidInput(f'there is no event "{name}": name one of {", ".join(Event)}')
        wanted = [Event(name) for name in event] if event else list(Event)
        return await app.webhooks.add(url, events=wanted, organisation=org, actor=actor())

    _show_secret(run(make, as_json=as_json), as_json=as_json)


@webhooks.command("list")
def list_receivers(as_json: Json = False) -> None:
    """Whoever is told, the newest first; never a secret."""

    async def ask(app: "App") -> list[dict[str, Any]]:
        return [receiver.to_json() for receiver in await app.webhooks.all()]

    rows = run(ask, as_json=as_json)
    empty = "nobody is told: add a webhook with: holdfast webhooks add URL"
    answer(rows, as_json=as_json, render=lambda: print_table(RECEIVERS, rows, empty=empty))


@webhooks.command("rotate")
def rotate(number: Number, as_json: Json = False) -> None:
    """Give a webhook a new secret, and show it, this once. For a day the one before signs too."""
    _show_secret(run(lambda app: app.webhooks.rotate(number, actor=actor()), as_json=as_json), as_json=as_json)


@webhooks.command("test")
def ping(number: Number, as_json: Json = False) -> None:
    """Send a ping, now, and say what came of it."""
    from holdfast.notices.delivery import Delivered

    outcome = run(lambda app: app.ping(number, actor=actor()), as_json=as_json)
    if not isinstance(outcome, Delivered):
        complain(f"receiver {number} did not take the ping: {outcome.answer}", code="not_delivered", as_json=as_json)
        raise typer.Exit(WORK_FAILED)
    shown = {"receiver_id": number, "status": outcome.status}
    answer(shown, as_json=as_json, render=lambda: print(f"receiver {number} took the ping"))


@webhooks.command("deliveries")
def deliveries(receiver: OfReceiver = None, state: State = None, limit: Limit = 50, as_json: Json = False) -> None:
    """What was told, or is still to be, the newest first."""

    async def ask(app: "App") -> list[dict[str, Any]]:
        found = await app.webhooks.deliveries(receiver_id=receiver, state=state, limit=limit)
        return [delivery.to_json() for delivery in found]

    rows = run(ask, as_json=as_json)
    answer(rows, as_json=as_json, render=lambda: print_table(DELIVERIES, rows, empty="nothing was told so far"))


@webhooks.command("redeliver")
def redeliver(delivery: DeliveryNumber, as_json: Json = False) -> None:
    """Have something told again, or at once, under the same id."""
    run(lambda app: app.webhooks.redeliver(delivery, actor=actor()), as_json=as_json)
    shown = f"delivery {delivery} is due: a worker or a server sends it"
    answer({"delivery_id": delivery}, as_json=as_json, render=lambda: print(shown))


@webhooks.command("remove")
def remove(number: Number, as_json: Json = False) -> None:
    """Tell a receiver nothing more; what waits for it is given up."""
    run(lambda app: app.webhooks.remove(number, actor=actor()), as_json=as_json)
    answer({"removed": number}, as_json=as_json, render=lambda: print(f"receiver {number} is told nothing more"))


def _show_secret(made: "NewWebhook", *, as_json: bool) -> None:
    shown = {"receiver_id": made.receiver_id, "secret": made.secret}
    said = f"{made.secret}\nwebhook {made.receiver_id}: keep its secret now, it is not shown again"
    answer(shown, as_json=as_json, render=lambda: print(said))
