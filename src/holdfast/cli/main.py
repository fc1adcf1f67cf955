"""The command line. Whatever is heavy is imported by the commands themselves, when they run."""

import os
import sys
from collections.abc import Callable
from io import TextIOWrapper
from itertools import takewhile
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from holdfast.cli.acting import cancel, requeue_stuck, reset, retry
from holdfast.cli.alerts import alerts
from holdfast.cli.budget import budget
from holdfast.cli.configs import configs
from holdfast.cli.errors import errors
from holdfast.cli.examples import epilog
from holdfast.cli.holds import hold, release
from holdfast.cli.ingest import ingest
from holdfast.cli.jobs import jobs
from holdfast.cli.keeping import clean, delete, reindex
from holdfast.cli.keys import keys
from holdfast.cli.looking import policies, queues, status, workers
from holdfast.cli.mcp import mcp
from holdfast.cli.readings import readings
from holdfast.cli.running import CALL_WAS_WRONG, WORK_FAILED, complain
from holdfast.cli.search import search
from holdfast.cli.serve import serve
from holdfast.cli.show import show
from holdfast.cli.stats import stats
from holdfast.cli.stories import stories
from holdfast.cli.submit import submit
from holdfast.cli.takeover import takeover
from holdfast.cli.trials import trials
from holdfast.cli.up import up
from holdfast.cli.upkeep import doctor, migrate
from holdfast.cli.webhooks import webhooks
from holdfast.cli.worker import worker

COMMANDS: dict[str, dict[str, Callable[..., None] | typer.Typer]] = {
    "Carry documents": {
        "ingest": ingest,
        "search": search,
        "worker": worker,
        "submit": submit,
        "serve": serve,
        "up": up,
        "mcp": mcp,
    },
    "Look": {
        "status": status,
        "queues": queues,
        "jobs": jobs,
        "show": show,
        "configs": configs,
        "errors": errors,
        "stats": stats,
        "trials": trials,
        "workers": workers,
        "policies": policies,
        "alerts": alerts,
        "stories": stories,
        "readings": readings,
    },
    "Act": {
        "retry": retry,
        "reset": reset,
        "cancel": cancel,
        "requeue-stuck": requeue_stuck,
        "hold": hold,
        "release": release,
        "budget": budget,
    },
    "Keep it sound": {
        "doctor": doctor,
        "delete": delete,
        "clean": clean,
        "reindex": reindex,
        "migrate": migrate,
        "takeover": takeover,
        "keys": keys,
        "webhooks": webhooks,
    },
}


# The library keeps the class of all wrong calls to itself.
_WrongCall: Any = typer.BadParameter.__mro__[1]


class _Commands(TyperGroup):
    """Lists the commands by what they are for, and explains wrong calls in JSON where JSON was asked for."""

    def main(self, *args: Any, **named: Any) -> Any:
        if "--json" not in takewhile(lambda argument: argument != "--", sys.argv[1:]):
            return super().main(*args, **named)
        try:
            sys.exit(super().main(*args, **{**named, "standalone_mode": False}))
        except _WrongCall as error:
            complain(error.format_message(), code="invalid_input", as_json=True)
            sys.exit(CALL_WAS_WRONG)
        except typer.Abort:
            sys.exit(WORK_FAILED)

    # The library keeps the types of these two to itself.
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, commands in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(60)) for name in commands])


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"holdfast {version('holdfast')}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end.")
]

cli = typer.Typer(
    name="holdfast",
    cls=_Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)


@cli.callback()
def holdfast(version: Version = False) -> None:
    """Carries documents through phases that cost money and fail often: nothing lost, nothing finished paid twice.

    Without HOLDFAST_DATABASE_URL it uses a PostgreSQL of its own, in HOLDFAST_HOME. Exit codes: 0 done, 1 the work
    failed, 2 the call was wrong. Every command that answers takes --json.
    """


def _add(name: str, command: Callable[..., None] | typer.Typer) -> None:
    if isinstance(command, typer.Typer):
        cli.add_typer(command, name=name, epilog=epilog(name))
    else:
        cli.command(name, epilog=epilog(name))(command)


for _commands in COMMANDS.values():
    for _name, _command in _commands.items():
        _add(_name, _command)


def main() -> None:
    """What the installed command runs."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a document's name must not end a command.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        cli()
    finally:
        _flush()


def _flush() -> None:
    """Whoever reads our output may have seen enough, as `head` has: that is no error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
