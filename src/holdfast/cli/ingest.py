"""`holdfast ingest`: takes files, folders, links and standard input in, and carries them to the end."""

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.options import Json, an_organisation
from holdfast.cli.output import answer
from holdfast.cli.running import INTERRUPTED, WORK_FAILED, complain, finish, reported

if TYPE_CHECKING:
    from holdfast.cli.request import Request

Sources = Annotated[
    list[str], typer.Argument(metavar="SOURCE...", help="Files, folders, http(s) links, or - for standard input.")
]
Organisation = Annotated[
    str | None,
    typer.Option(
        "--org", callback=an_organisation, help="The organisation they belong to; default: HOLDFAST_ORGANISATION."
    ),
]
PipelineName = Annotated[str, typer.Option("--pipeline", help="The pipeline that carries them.")]
Name = Annotated[str | None, typer.Option("--name", help="What to call standard input, as in report.pdf.")]
Meta = Annotated[list[str] | None, typer.Option("--meta", metavar="KEY=VALUE", help="Metadata; repeat for more.")]
Priority = Annotated[int, typer.Option("--priority", min=-100, max=100, help="Higher is claimed first.")]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Only take them in; workers that run elsewhere do the rest.")]
Watch = Annotated[bool, typer.Option("--watch", help="Stay, and take in what changes in the folders; end with Ctrl-C.")]


def ingest(
    sources: Sources,
    org: Organisation = None,
    pipeline: PipelineName = "documents",
    name: Name = None,
    meta: Meta = None,
    priority: Priority = 0,
    no_wait: NoWait = False,
    watch: Watch = False,
    as_json: Json = False,
) -> None:
    """Take documents in and carry them through every phase, until they can be searched.

    What is known already is not run again: an unchanged file is passed over, the same content under another name is
    recorded as a duplicate, and a changed file is a new version, which replaces the old one when it is complete.
    Ends when nothing is left to do or to wait for within seconds; what waits longer is named, and goes on with
    the next worker. A database that goes away meanwhile is waited for. Interrupted, it can be called again:
    nothing is lost and nothing is done twice.
    Exit code 1 when a document failed, now or before, or could not be taken in; 130 after an interruption.
    """
    with reported(as_json=as_json):
        from holdfast.cli.request import Request
        from holdfast.engine.metadata import metadata_of

        request = Request(
            sources=tuple(sources),
            organisation=org,
            pipeline=pipeline,
            name=name,
            metadata=metadata_of(meta or ()),
            priority=priority,
            watch=watch,
            wait=not no_wait,
        )
        request.check()
    summary = finish(lambda: _carry(request, as_json=as_json), as_json=as_json)
    if summary is None:
        _say_unsummed(as_json=as_json)
        raise typer.Exit(INTERRUPTED)
    _print(summary, as_json=as_json)
    if summary["interrupted"] and not watch:
        raise typer.Exit(INTERRUPTED)
    if summary["failures"] or summary["refused"] or summary["failed_before"]:
        raise typer.Exit(WORK_FAILED)


async def _carry(request: "Request", *, as_json: bool) -> dict[str, Any] | None:
    import logging

    from holdfast.app import open_for_worker
    from holdfast.cli.carrying import carry
    from holdfast.cli.logs import configure_logs
    from holdfast.cli.picture import shown
    from holdfast.cli.request import STDIN
    from holdfast.settings import load_settings

    settings = load_settings()
    # What the worker would log is on the picture and in the summary.
    configure_logs(settings.log_format, level=logging.CRITICAL)
    async with open_for_worker(settings) as app:
        with shown(quiet=as_json) as picture:
            summary = await carry(app, request, picture)
    if (summary is None or summary["interrupted"]) and STDIN in request.sources:
        # Whatever still reads it does so until it ends, and the interpreter would wait for that.
        if summary is None:
            _say_unsummed(as_json=as_json)
        else:
            _print(summary, as_json=as_json)
        sys.stdout.flush()
        os._exit(INTERRUPTED)
    return summary


def _say_unsummed(*, as_json: bool) -> None:
    complain(
        "interrupted before the database could sum up: nothing is lost, the same call goes on from here",
        code="interrupted",
        as_json=as_json,
    )


def _print(summary: dict[str, Any], *, as_json: bool) -> None:
    from holdfast.cli.summary import print_summary

    answer(summary, as_json=as_json, render=lambda: print_summary(summary))
