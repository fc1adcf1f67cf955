"""`holdfast takeover`: from a database of the older kind, on and back."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.columns import Row, count, plain
from holdfast.cli.formats import number, plural
from holdfast.cli.options import Json, an_organisation
from holdfast.cli.output import answer, emit, print_table
from holdfast.cli.progress import progress
from holdfast.cli.running import INTERRUPTED, WORK_FAILED, actor, complain, reported, run
from holdfast.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.app import App
    from holdfast.takeover.report import Report
    from holdfast.takeover.undoing import Undone

Check = Annotated[bool, typer.Option("--check", help="Count, and say what would change. Writes nothing.")]
Run = Annotated[bool, typer.Option("--run", help="Take over, or go on with it; then compare all counts.")]
Undo = Annotated[bool, typer.Option("--undo", help="Remove what the takeover made.")]
Table = Annotated[str, typer.Option("--table", metavar="SCHEMA.NAME", help="The old table.")]
From = Annotated[str | None, typer.Option("--from", metavar="URL", help="The old database; default: Holdfast's own.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="FIELD=COLUMN", help="Where a field is, if not in a column of a usual name."),
]
PipelineName = Annotated[str, typer.Option("--pipeline", help="Into which pipeline.")]
Organisation = Annotated[
    str | None,
    typer.Option(
        "--org", callback=an_organisation, help="Whose rows are that name none; default: HOLDFAST_ORGANISATION."
    ),
]
Share = Annotated[
    int | None,
    typer.Option("--share", metavar="PERCENT", help="How many Holdfast carries; the others stay in the old flow."),
]
Flows = Annotated[
    list[str] | None,
    typer.Option("--flow", metavar="KEY=old|new", help="Who carries one document, whatever the share says."),
]
Files = Annotated[
    Path | None, typer.Option("--files", metavar="FOLDER", help="Where the files are that rows name by their path.")
]
Stopped = Annotated[
    bool, typer.Option("--workers-stopped", help="No old worker runs: take over what is marked as worked on, too.")
]
DiscardWork = Annotated[
    bool, typer.Option("--discard-work", help="Undo also what was worked on since, and lose what was made of it.")
]

LEFT_SHOWN = 5
GROUPS = (
    plain("STATUS", "status", absent="NULL"),
    plain("STATE", "state", absent="NULL"),
    count("ROWS", "rows"),
    plain("FLOW", "flow", absent="left"),
    plain("BECOMES", "becomes_status"),
    plain("IN STATE", "becomes_state"),
    plain("BECAUSE", "reason", flexible=True),
)


def takeover(
    check: Check = False,
    run_: Run = False,
    undo: Undo = False,
    table: Table = "public.documents",
    source: From = None,
    columns: Columns = None,
    pipeline: PipelineName = "documents",
    org: Organisation = None,
    share: Share = None,
    flows: Flows = None,
    files: Files = None,
    workers_stopped: Stopped = False,
    discard_work: DiscardWork = False,
    as_json: Json = False,
) -> None:
    """Take over a database whose statuses mix stages with failures, and jobs go on where they stood.

    The old table is only read. --check counts, --run takes over in batches and can be stopped and called again, --undo
    removes what it made. Exit code 1 when counts do not agree afterwards.
    """
    with reported(as_json=as_json):
        if check + run_ + undo != 1:
            raise InvalidInput("say what to do: --check, --run or --undo, one of them")
        if discard_work and not undo:
            raise InvalidInput("--discard-work belongs to --undo")

    async def act(app: "App") -> "Report | Undone":
        from holdfast.takeover.plan import Plan, chosen_columns, chosen_flows

        plan = Plan(
            pipeline=pipeline,
            organisation=app.settings.organisation if org is None else org,
            table=table,
            columns=chosen_columns(columns or []),
            share=share,
            chosen=chosen_flows(flows or []),
            workers_stopped=workers_stopped,
        )
        desk = app.takeover(actor())
        if undo:
            return await desk.undo(plan, url=source, discard_work=discard_work, on_progress=shown)
        async with desk.table(plan, url=source) as old:
            taking = desk.taking(old, plan, files=files)
            if check:
                return await taking.check(shown)
            await app.register()
            return await taking.run(shown)

    with _stopped_well(as_json=as_json, wrote=not check), progress("rows") as shown:
        done = run(act, as_json=as_json)
    told = _told(done)
    answer(told, as_json=as_json, render=lambda: _print_undone(told) if undo else _print_report(told, did_run=run_))
    if not told.get("verified", True):
        raise typer.Exit(WORK_FAILED)


@contextmanager
def _stopped_well(*, as_json: bool, wrote: bool) -> Iterator[None]:
    """Whoever stops it learns how to go on."""
    try:
        yield
    except typer.Exit as stopped:
        if stopped.exit_code == INTERRUPTED and wrote:
            complain("stopped: what is done is whole, call it again to go on", code="interrupted", as_json=as_json)
        raise


def _told(done: "Report | Undone") -> dict[str, Any]:
    return {**dataclasses.asdict(done), **({"verified": done.verified} if hasattr(done, "verified") else {})}


def _print_report(report: Row, *, did_run: bool) -> None:
    names = ", ".join(f"{field} in {column}" for field, column in report["columns"].items())
    emit(f"{report['table']}: {plural(report['rows'], 'row')}; {names}")
    print_table(GROUPS, report["groups"], empty="the table is empty: there is nothing to take over")
    taken, old, left = (number(report[name]) for name in ("taken", "old_flow", "left"))
    verb = "taken over" if did_run else "would be taken over"
    emit(f"\n{taken} {verb}, {old} in the old flow, {left} left where they are: {number(report['rows'])} in all")
    emit(*_remarks(report))
    if not did_run:
        emit("nothing was changed; take over with the same call and --run instead of --check")
    elif report["verified"]:
        emit("old table, backup and jobs agree, and no job has an old status")
    else:
        emit(
            "the counts do not agree, perhaps because the old table changed meanwhile: call it again",
            *report["differences"],
        )


def _remarks(report: Row) -> Iterator[str]:
    yield from report["warnings"]
    for kind, rows in sorted(report["odd_errors"].items()):
        yield f"{plural(rows, 'row')} with an error that is {kind}"
    for row in report["left_rows"][:LEFT_SHOWN]:
        yield f"left: {row['key']}, {row['reason']}"
    for row in report["staying"]:
        yield f"{row['key']} stays with Holdfast: {row['reason']}"
    if beyond := report["beyond_share"]:
        verb, them = ("stays", "it") if beyond == 1 else ("stay", "them")
        yield f"{plural(beyond, 'row')} beyond the share {verb} with Holdfast, which has begun to carry {them}"
    if report["without_source"]:
        yield (
            f"{plural(report['without_source'], 'job')} will find nothing to go on with: name the folder of their files"
            " with --files, or the column of their location with --column location=COLUMN"
        )
    if report["changed"]:
        yield f"{plural(report['changed'], 'row')} that Holdfast carries changed in the old table"


def _print_undone(undone: Row) -> None:
    emit(f"{plural(undone['removed'], 'row')} of {undone['table']} let go; the old table is as it was")
    if undone["discarded"]:
        emit(
            f"{plural(undone['discarded'], 'document')} that had been worked on removed with all that was made of them"
        )
    if undone["kept"]:
        emit(f"{plural(undone['kept'], 'document')} kept and called off: other documents refer to them")
