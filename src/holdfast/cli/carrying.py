"""Takes sources in and works until nothing is left to do for them."""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from holdfast.cli.outage import Outage
from holdfast.cli.picture import Picture
from holdfast.cli.request import Request
from holdfast.engine.patience import Patience, ask_once
from holdfast.errors import DatabaseUnavailable
from holdfast.intake.found import Found
from holdfast.intake.intake import Result, Taken
from holdfast.intake.sources.files import LeftOut
from holdfast.intake.sources.watch import changes
from holdfast.pipelines import CONFIGS, READINGS, STORIES

if TYPE_CHECKING:
    from holdfast.app import App

FAILED = ("failed", "deadletter")
REFUSED = (Result.TOO_LARGE, Result.UNREADABLE, Result.WITHOUT_ROOM)
LOOK_SECONDS = 0.3
# Looking at a hundred thousand jobs takes its time; most of it belongs to the work.
LOOK_SHARE = 0.1
# Whoever waits for a retry in a minute would rather have the prompt back.
WORTH_WAITING = timedelta(seconds=15)
# Whoever presses Ctrl-C wants the prompt back soon; what is given back costs no attempt.
GRACE_SECONDS = 5.0


@dataclass(slots=True)
class Intaken:
    """What was taken in so far."""

    taken: list[Taken] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def job_ids(self) -> list[int]:
        """The jobs that were created, and those whose document was under way or left there by an earlier call."""
        return [one.job_id for one in self.taken if one.job_id is not None and _is_carried(one)]

    @property
    def runs(self) -> list[dict[str, object]]:
        """The documents by which what came of them is asked for."""
        return [{"name": one.found.name, "run": one.document_id} for one in self.taken if one.document_id is not None]

    @property
    def refused(self) -> list[dict[str, str | None]]:
        """What could not be taken in, and why."""
        refused = [one for one in self.taken if one.result in REFUSED]
        unreadable = [line.rpartition(": ") for left in self.left_out for line in left.unreadable]
        reasons = [(one.found.name, one.reason) for one in refused] + [(path, why) for path, _, why in unreadable]
        return [{"name": name, "reason": reason} for name, reason in reasons]

    @property
    def passed_over(self) -> dict[str, int]:
        """How many entries of folders were not meant to be taken in, by reason."""
        return {
            "hidden": sum(left.hidden for left in self.left_out),
            "links": sum(left.links for left in self.left_out),
            "special": sum(left.special for left in self.left_out),
            "own": sum(left.own for left in self.left_out),
        }

    @property
    def failed_before(self) -> list[dict[str, object]]:
        """Documents that have not changed since they failed."""
        failed = [one for one in self.taken if _failed_before(one)]
        return [{"name": one.found.name, "job_id": one.job_id, "state": one.state} for one in failed]

    @property
    def duplicates(self) -> dict[int, str]:
        """The names of documents whose content another has."""
        same = [one for one in self.taken if one.result == Result.DUPLICATE]
        return {one.document_id: one.found.name for one in same if one.document_id is not None}


def _failed_before(taken: Taken) -> bool:
    return taken.result == Result.UNCHANGED and taken.state in FAILED and not taken.under_way


def _is_carried(taken: Taken) -> bool:
    if taken.result == Result.UNCHANGED:
        return taken.under_way
    return taken.result != Result.DUPLICATE


async def carry(app: "App", request: Request, picture: Picture) -> dict[str, Any] | None:
    """Take everything in, work until it is done, and sum up. SIGINT and SIGTERM end it early and lose nothing.

    A database that goes away is waited for. None when it was told to end and there was nobody to ask for the sum.
    """
    began_at, intaken, outage = time.monotonic(), Intaken(), Outage(picture.away)
    await outage(app.register)
    if request.wait:
        interrupted = await _take_in_and_work(app, request, intaken, picture, outage)
    else:
        interrupted = await _unless_told_to_stop(_take_in(app, request, intaken, picture, outage), _nothing_more)
    summary: dict[str, Any] = {}

    async def sum_up(patience: Patience) -> None:
        summary.update(await patience(lambda: _summary(app, intaken, waited=request.wait, interrupted=interrupted)))

    if not interrupted:
        interrupted = await _unless_told_to_stop(sum_up(outage), _nothing_more)
    if not summary:
        with suppress(DatabaseUnavailable):
            await _unless_told_to_stop(sum_up(ask_once), _nothing_more)
    if not summary:
        return None
    return {
        **summary,
        "pipeline": request.pipeline,
        "runs": _runs(request.pipeline, intaken, summary["failures"]),
        "seconds": time.monotonic() - began_at,
        "interrupted": interrupted,
    }


async def _take_in_and_work(
    app: "App", request: Request, intaken: Intaken, picture: Picture, patience: Patience
) -> bool:
    worker = app.worker(only_pipelines=(request.pipeline,), grace_seconds=GRACE_SECONDS)
    working = asyncio.create_task(worker.run())

    says = iter((picture.ending, picture.leaving))

    def stop() -> None:
        next(says, _nothing_more)()
        worker.stop()

    async def watch() -> None:
        watching = asyncio.create_task(_take_in_and_watch(app, request, intaken, picture, patience))
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
            if watching.done():
                await watching
        finally:
            watching.cancel()

    told = False
    try:
        told = await _unless_told_to_stop(watch(), stop)
    finally:
        # A second stop would not let finish what runs.
        if not told:
            worker.stop()
        await working
    return told


async def _unless_told_to_stop(work: Coroutine[Any, Any, None], on_signal: Callable[[], None]) -> bool:
    """Do the work until it ends or a signal says so, and say whether one did."""
    told = asyncio.Event()

    def stop() -> None:
        told.set()
        on_signal()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    working, stopping = asyncio.create_task(work), asyncio.create_task(told.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            await working
    finally:
        stopping.cancel()
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
    return told.is_set()


def _nothing_more() -> None:
    """There is no worker to stop, or all is said."""


async def _take_in_and_watch(
    app: "App", request: Request, intaken: Intaken, picture: Picture, patience: Patience
) -> None:
    taking = asyncio.create_task(_take_in(app, request, intaken, picture, patience))
    try:
        await _watch(app, intaken, picture, taking, patience)
        await taking
    finally:
        taking.cancel()


async def _take_in(app: "App", request: Request, intaken: Intaken, picture: Picture, patience: Patience) -> None:
    intake = app.intake(request.pipeline)
    organisation = app.settings.organisation if request.organisation is None else request.organisation

    async def take(found: Iterable[Found]) -> None:
        async for taken in intake.take_in(
            found,
            organisation=organisation,
            metadata=request.metadata,
            priority=request.priority,
            patience=patience,
        ):
            intaken.taken.append(taken)
            picture.taken_in(len(intaken.taken))

    # Asked for now: one that is away later is a folder all the same.
    folders, own = request.folders, app.settings.own_folders
    await take(request.found(intaken.left_out, own=own))
    if request.watch:
        async for changed in changes(folders, own=own):
            await take(changed)


async def _watch(
    app: "App", intaken: Intaken, picture: Picture, taking: "asyncio.Task[None]", patience: Patience
) -> None:
    """Keep the picture true until everything taken in is done, or waits for longer than anyone would."""
    began_at = 0.0

    async def look() -> list[dict[str, Any]]:
        nonlocal began_at
        began_at = time.monotonic()  # of this try: waiting for a database that is away is not what a look costs
        return await app.overview.progress(intaken.job_ids)

    while True:
        complete = taking.done()
        rows = await patience(look)
        picture.show(rows)
        if complete and not _goes_on(rows):
            return
        await asyncio.sleep(max(LOOK_SECONDS, (time.monotonic() - began_at) / LOOK_SHARE))


def _goes_on(rows: list[dict[str, Any]]) -> bool:
    soon = datetime.now(UTC) + WORTH_WAITING
    return any(
        row["queued"] or row["working"] or (row["waiting"] and row["resumes_at"] and row["resumes_at"] < soon)
        for row in rows
    )


async def _summary(app: "App", intaken: Intaken, *, waited: bool, interrupted: bool) -> dict[str, Any]:
    family = await app.overview.family(intaken.job_ids)
    # What is still in the queue when nothing was left to do is kept there by a hold.
    waits = ("held",) if interrupted else ("held", "queued")
    document_ids = [job["document_id"] for job in family]
    return {
        "taken_in": Counter(taken.result for taken in intaken.taken),
        "metadata_merged": sum(taken.metadata_merged for taken in intaken.taken),
        "left_out": intaken.passed_over,
        "refused": intaken.refused,
        "failed_before": await _explained(
            app, [*intaken.failed_before, *await _failed_elsewhere(app, intaken.duplicates)]
        ),
        "states": Counter(job["state"] for job in family),
        "knowledge": asdict(await app.knowledge(document_ids)),
        "warnings": await app.warnings(document_ids),
        "doubts": [*app.doubts, *app.seen_sandbox_gaps],
        "phases": await app.overview.spent(intaken.job_ids),
        "waiting": [_told(job) for job in family if waited and job["state"] in waits],
        "failures": [_told(job) for job in family if waited and job["state"] in FAILED],
    }


async def _failed_elsewhere(app: "App", duplicates: dict[int, str]) -> list[dict[str, object]]:
    """Duplicates of what failed: nobody will read their content until that is mended."""
    return [
        {"name": duplicates[row["document_id"]], "job_id": row["job_id"], "state": row["state"]}
        for row in await app.overview.failed_originals(list(duplicates))
    ]


async def _explained(app: "App", failed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    jobs = {job["job_id"]: job for job in await app.overview.family([one["job_id"] for one in failed])}
    return [{**one, **{name: jobs[one["job_id"]][name] for name in ("last_error", "next")}} for one in failed]


def _runs(pipeline: str, intaken: Intaken, failures: list[dict[str, Any]]) -> list[dict[str, object]]:
    """What to ask for by the pipeline's own command: every archive, and whatever a model has written or will write."""
    if pipeline == CONFIGS:
        return intaken.runs
    if pipeline not in (STORIES, READINGS):
        return []
    before = {one.document_id for one in intaken.taken if _failed_before(one)}
    without = {*intaken.duplicates, *before, *(job["document_id"] for job in failures)}
    return [row for row in intaken.runs if row["run"] not in without]


def _told(job: dict[str, Any]) -> dict[str, Any]:
    fields = ("job_id", "document_id", "source_name", "phase", "state", "last_error", "next")
    return {name: job[name] for name in fields}
