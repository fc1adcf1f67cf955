"""`holdfast alerts`: what someone should look at, and what is over."""

from typing import TYPE_CHECKING, Any

from holdfast.cli.columns import identity, plain, since
from holdfast.cli.options import Json, Limit
from holdfast.cli.output import answer, print_table
from holdfast.cli.running import run

if TYPE_CHECKING:
    from holdfast.app import App

COLUMNS = (
    identity("ALERT", "incident_id"),
    plain("KIND", "kind"),
    plain("SCOPE", "scope"),
    plain("ORGANISATION", "organisation"),
    since("OPENED", "opened_at"),
    since("CLOSED", "closed_at"),
    plain("MESSAGE", "message", flexible=True),
)


def alerts(limit: Limit = 20, as_json: Json = False) -> None:
    """Alerts that are on, then those that are over, the newest first.

    Workers and servers check twice a minute. To be told, add a webhook or name an address for mail.
    """

    async def ask(app: "App") -> list[dict[str, Any]]:
        return [incident.to_json() for incident in await app.incidents.all(limit=limit)]

    rows = run(ask, as_json=as_json)
    empty = "no alert is on, and none ever was"
    answer(rows, as_json=as_json, render=lambda: print_table(COLUMNS, rows, empty=empty))
