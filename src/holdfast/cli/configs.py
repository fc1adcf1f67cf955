"""`holdfast configs`: what configuration archives hold, and what differs between two of them."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli import options
from holdfast.cli.columns import Column, plain
from holdfast.cli.formats import NOTHING, plural, text
from holdfast.cli.output import answer, print_table
from holdfast.cli.running import run

if TYPE_CHECKING:
    from holdfast.app import App

configs = typer.Typer(help="What configuration archives hold.", no_args_is_help=True)

RunId = Annotated[int, typer.Argument(metavar="RUN", help="The run: the document that was ingested.")]
OtherId = Annotated[int, typer.Argument(metavar="OTHER", help="The run to compare it with.")]
File = Annotated[str | None, typer.Option("--file", help="Only this file: its path in the archive, or its name.")]
StanzaName = Annotated[str | None, typer.Option("--stanza", help="Only this stanza.")]
Cursor = Annotated[str | None, typer.Option("--cursor", help="Go on after the page that ended with this.")]
First = Annotated[int, typer.Option("--first", min=0, help="Pass over this many changes.")]
PageLimit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most this many.")]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="End with 1 when there are differences.")]

DIFFERENT = 1


def _place(title: str, line: str) -> Column:
    return Column(title=title, cell=lambda row: text(f"{row['source_path']}:{row[line]}" if row[line] else NOTHING))


def _line(title: str, key: str) -> Column:
    """A value in one line, as a table needs it; --json has it as it is."""
    return Column(title=title, cell=lambda row: text(" ".join((row[key] or NOTHING).split())), flexible=True)


SETTINGS = (_place("PLACE", "line"), plain("STANZA", "stanza"), plain("KEY", "key"), _line("VALUE", "value"))
ERRORS = (_place("PLACE", "line"), plain("PROBLEM", "message"), _line("TEXT", "text"))
CHANGES = (
    plain("CHANGE", "change"),
    plain("STANZA", "stanza"),
    plain("KEY", "key"),
    _place("OLD PLACE", "old_line"),
    _line("OLD", "old_value"),
    _place("NEW PLACE", "new_line"),
    _line("NEW", "new_value"),
)


@configs.command("show")
def show(
    run_id: RunId,
    file: File = None,
    stanza: StanzaName = None,
    limit: PageLimit = 100,
    cursor: Cursor = None,
    as_json: options.Json = False,
) -> None:
    """What a run read: every setting with its file and line, and the lines that are not right."""

    async def ask(app: "App") -> dict[str, Any]:
        return asdict(await app.configs.show(run_id, file=file, stanza=stanza, cursor=cursor, limit=limit))

    shown = run(ask, as_json=as_json)
    answer(shown, as_json=as_json, render=lambda: _print_run(shown))


@configs.command("diff")
def diff(
    run_id: RunId,
    other: OtherId,
    first: First = 0,
    limit: PageLimit = 100,
    exit_code: ExitCode = False,
    as_json: options.Json = False,
) -> None:
    """Which settings another run has otherwise: added, removed or changed, with file and line on both sides.

    Of a key that is set several times in its stanza, the last one counts. The exit code is 0, whether there are
    differences or not; with --exit-code it is 1 when there are.
    """

    async def ask(app: "App") -> dict[str, Any]:
        return asdict(await app.configs.diff(run_id, other, first=first, limit=limit))

    found = run(ask, as_json=as_json)
    answer(found, as_json=as_json, render=lambda: _print_difference(found))
    if exit_code and any(found[kind] for kind in ("added", "removed", "changed")):
        raise typer.Exit(DIFFERENT)


def _print_run(shown: dict[str, Any]) -> None:
    is_done = shown["state"] == "done"
    percent = f" · {shown['percent']} %" if shown["percent"] >= 0 and not is_done else ""
    print(f"run {shown['run']} · {text(shown['source_name'])} · {shown['status']} · {shown['state']}{percent}")
    if not is_done:
        _print_standing(shown)
    for name, value in (shown["metrics"] or {}).items():
        print(f"  {name} {value}")
    print()
    print_table(SETTINGS, shown["settings"], empty="no setting matches" if is_done else "no setting is stored")
    if shown["cursor"]:
        print(f"\nmore with: --cursor {shown['cursor']}")
    if shown["errors"]:
        print_table(ERRORS, shown["errors"], empty="", title="Lines that are not right")


def _print_standing(shown: dict[str, Any]) -> None:
    """Why there is nothing, or only a part: whoever asks for settings wants to know what to do about it."""
    if shown["error_message"]:
        print(f"  error: {text(shown['error_message'])}")
    print(f"  next: {text(shown['next'])}; all of it with: holdfast show {shown['job_id']}")
    if shown["settings"]:
        print("  the run is not complete: what follows is only a part")


def _print_difference(found: dict[str, Any]) -> None:
    counts = ", ".join(f"{found[kind]:,} {kind}" for kind in ("added", "removed", "changed"))
    print(f"run {found['run']} → run {found['other']}: {counts}\n")
    print_table(CHANGES, found["changes"], empty="no setting differs")
    shown, total = len(found["changes"]), sum(found[kind] for kind in ("added", "removed", "changed"))
    if shown < total:
        print(f"\n{plural(shown, 'change')} of {total:,} shown: more with --first and --limit")
