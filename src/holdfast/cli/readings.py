"""`holdfast readings`: texts that a language model generated."""

from typing import Annotated, Any

import typer

from holdfast.cli.examples import epilog
from holdfast.cli.formats import moment, text
from holdfast.cli.options import Json
from holdfast.cli.output import answer, emit
from holdfast.cli.running import run

readings = typer.Typer(help="Texts that a language model generated.", no_args_is_help=True)

DocumentId = Annotated[int, typer.Argument(metavar="DOCUMENT", help="The prompt, by its document's id.")]


@readings.callback()
def _group() -> None:
    """Texts that a language model generated."""


@readings.command("show", epilog=epilog("readings show"))
def show(document: DocumentId, as_json: Json = False) -> None:
    """The text that was generated from a prompt."""
    from dataclasses import asdict

    reading = asdict(run(lambda app: app.reading(document), as_json=as_json))
    answer(reading, as_json=as_json, render=lambda: _print(reading))


def _print(reading: dict[str, Any]) -> None:
    emit(f"document {reading['document_id']}, generated {moment(reading['generated_at'])} by {text(reading['model'])}")
    for line in reading["text"].splitlines():
        emit(text(line) if line.strip() else "")
