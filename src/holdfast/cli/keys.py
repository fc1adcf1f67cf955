"""`holdfast keys`: who may call the API."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli import options
from holdfast.cli.columns import plain, since
from holdfast.cli.output import answer, print_table
from holdfast.cli.running import actor, run

if TYPE_CHECKING:
    from holdfast.access.keys import NewKey
    from holdfast.app import App

keys = typer.Typer(help="Keys that let products call the API.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="What the audit log calls it.")]
Organisation = Annotated[
    str | None,
    typer.Option(
        "--org",
        callback=options.an_organisation,
        help="The only organisation it sees; default: all of them.",
        show_default=False,
    ),
]
ScopeName = Annotated[str, typer.Option("--scope", help="read, write (and read), or admin (and everything).")]
Number = Annotated[int, typer.Argument(metavar="KEY", help="The number that `keys list` shows.")]

COLUMNS = (
    plain("KEY", "key_id"),
    plain("NAME", "name"),
    plain("ORGANISATION", "organisation"),
    plain("SCOPE", "scope"),
    plain("BEGINS", "hint"),
    since("MADE", "created_at"),
    since("LAST USED", "last_used_at"),
    since("REVOKED", "revoked_at"),
)


@keys.command("create")
def create(name: Name, org: Organisation = None, scope: ScopeName = "write", as_json: options.Json = False) -> None:
    """Make a key and show it, this once."""

    async def make(app: "App") -> "NewKey":
        from holdfast.access.keys import Scope
        from holdfast.errors import InvalidInput

        if scope not in list(Scope):
            raise InvalidInput(f'there is no scope "{scope}": name one of {", ".join(Scope)}')
        return await app.keys.create(name, scope=Scope(scope), organisation=org, actor=actor())

    made = run(make, as_json=as_json)
    shown = {"key_id": made.key_id, "secret": made.secret}
    answer(shown, as_json=as_json, render=lambda: _print_new(made))


@keys.command("list")
def list_keys(as_json: options.Json = False) -> None:
    """Every key, the newest first; never its secret."""

    async def ask(app: "App") -> list[dict[str, Any]]:
        return [key.to_json() for key in await app.keys.all()]

    rows = run(ask, as_json=as_json)
    empty = "there are no keys: make one with: holdfast keys create NAME"
    answer(rows, as_json=as_json, render=lambda: print_table(COLUMNS, rows, empty=empty))


@keys.command("revoke")
def revoke(key: Number, as_json: options.Json = False) -> None:
    """End a key for good."""
    run(lambda app: app.keys.revoke(key, actor=actor()), as_json=as_json)
    answer({"revoked": key}, as_json=as_json, render=lambda: print(f"key {key} opens nothing any more"))


def _print_new(made: "NewKey") -> None:
    print(f"{made.secret}\nkey {made.key_id}: keep it now, it is not shown again")
