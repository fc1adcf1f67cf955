"""`holdfast retry`, `reset`, `cancel` and `requeue-stuck`: what operators do to jobs, one or many."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.acted import print_preview, print_tally
from holdfast.cli.formats import plural
from holdfast.cli.options import DryRun, Json, PhaseName, PipelineName, Reason
from holdfast.cli.output import answer
from holdfast.cli.progress import progress
from holdfast.cli.running import WORK_FAILED, actor, reported, run
from holdfast.cli.selecting import selecting
from holdfast.cli.trials import print_begun
from holdfast.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.engine.control import Act, Control, Tally
    from holdfast.engine.selection import Selection

FromPhase = Annotated[
    str | None, typer.Option("--phase", help="Run this earlier phase and all after it again, not only what failed.")
]
First = Annotated[
    int | None,
    typer.Option("--first", min=1, max=100, help="Only this many for now; the rest follows when they get past."),
]
Minutes = Annotated[
    int, typer.Option("--stuck-for-minutes", min=0, max=525_600, help="Jobs without progress for this long.")
]


@selecting
def retry(
    selection: "Selection",
    phase: FromPhase = None,
    first: First = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Queue jobs again at the phase that failed.

    Finished phases are not run again. A filter means jobs that failed or went to the dead letter; name --state for
    cancelled or held ones.
    """
    from holdfast.engine.control import RETRY

    with reported(as_json=as_json):
        if first is not None and phase is not None:
            raise InvalidInput("--first tries jobs where they failed: leave --phase out, or --first")
    if dry_run:
        _preview(RETRY, selection, as_json=as_json)
    elif first is not None:
        trial = run(lambda app: app.control(actor()).try_first(selection, first=first, reason=reason), as_json=as_json)
        print_begun(trial, as_json=as_json)
    else:
        _act(lambda control: control.retry(selection, phase=phase, reason=reason), wanted="queued", as_json=as_json)


@selecting
def reset(selection: "Selection", reason: Reason = None, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Start jobs over from their first phase.

    Their documents' failures are forgotten. Every phase runs, and is paid for, again. A filter means jobs that failed
    or went to the dead letter.
    """
    from holdfast.engine.control import RESET

    if dry_run:
        _preview(RESET, selection, as_json=as_json)
    else:
        _act(lambda control: control.reset(selection, reason=reason), wanted="queued", as_json=as_json)


@selecting
def cancel(selection: "Selection", reason: Reason = None, dry_run: DryRun = False, as_json: Json = False) -> None:
    """End jobs, waiting or running. What they finished is kept; "retry" opens them again."""
    from holdfast.engine.control import CANCEL

    if dry_run:
        _preview(CANCEL, selection, as_json=as_json)
    else:
        _act(lambda control: control.cancel(selection, reason=reason), wanted="cancelled", as_json=as_json)


def requeue_stuck(
    minutes: Minutes = 30,
    pipeline: PipelineName = None,
    phase: PhaseName = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Take jobs without progress away from their workers.

    They are queued again, uncharged.
    """

    async def act(control: "Control") -> list[int]:
        find = control.stuck if dry_run else control.requeue_stuck
        return await find(minutes=minutes, pipeline=pipeline, phase=phase)

    ids = run(lambda app: act(app.control(actor())), as_json=as_json)
    verb = "would be taken back" if dry_run else "taken back, uncharged"
    listed = ", ".join(str(job_id) for job_id in ids)
    answer(
        {"dry_run": dry_run, "jobs": ids},
        as_json=as_json,
        render=lambda: print(
            f"{plural(len(ids), 'job')} {verb}: {listed}" if ids else f"no job is stuck for {minutes} minutes"
        ),
    )


def _preview(act: "Act", selection: "Selection", *, as_json: bool) -> None:
    groups = run(lambda app: app.control(actor()).preview(act, selection), as_json=as_json)
    print_preview(act, groups, as_json=as_json)


def _act(call: "Callable[[Control], Awaitable[Tally]]", *, wanted: str, as_json: bool) -> None:
    with progress("jobs done") as shown:
        tally = run(lambda app: call(app.control(actor(), on_progress=shown)), as_json=as_json)
    print_tally(tally, wanted=wanted, as_json=as_json)
    if set(tally.counts) - {wanted}:
        raise typer.Exit(WORK_FAILED)
