"""Acts on jobs from a page: previewed, confirmed, done under the viewer's name, told."""

from dataclasses import asdict

from markupsafe import Markup
from nicegui import ui

from holdfast.api.jobs import ACTS, preview_of
from holdfast.dashboard.asking import confirmed, outcome, shown
from holdfast.dashboard.jobs.preview import preview_markup
from holdfast.dashboard.markup import tag
from holdfast.dashboard.viewer import Viewer
from holdfast.dashboard.words import count, size
from holdfast.engine.control import Act
from holdfast.engine.selection import Selection
from holdfast.publish.removal import Receipt

MEANING = {
    "retry": "Each is queued again where it failed; phases that finished are kept.",
    "reset": "Each starts over from its first phase: everything is done, and paid for, again.",
    "cancel": "Each ends, waiting or running; what it finished is kept.",
}


async def act_on_many(viewer: Viewer, name: str, selection: Selection) -> str | None:
    """Do it to all of them once the viewer has seen what that means; None: the viewer thought better of it."""
    act = ACTS[name]
    preview = preview_of(await viewer.control.preview(act, selection))
    if not preview.jobs:
        return f"There is nothing to {name} among these."
    jobs = "1 job" if preview.jobs == 1 else f"{count(preview.jobs)} jobs"
    word = name.capitalize()
    if not await confirmed(f"{word} {jobs}?", preview_markup(preview, MEANING[name]), verb=f"{word} {jobs}"):
        return None
    return await _done(viewer, act, selection)


async def retry_from(viewer: Viewer, job_id: int, phase: str) -> str | None:
    """Queue a job again from a phase on, once confirmed."""
    meaning = f"{phase} and every phase after it run again; what came before is kept."
    if not await confirmed(f"Retry job {job_id} from {phase}?", meaning, verb="Retry"):
        return None
    return outcome(await viewer.control.retry(Selection(ids=(job_id,)), phase=phase))


async def delete_document(viewer: Viewer, document_id: int, name: str) -> None:
    """Remove a document for good, once confirmed, and show the receipt."""
    viewer.require_may_act()
    meaning = tag(
        "p",
        tag("b", name),
        ", its parts, everything that was made of it and every copy of its content go for good. ",
        "This cannot be undone.",
    )
    if not await confirmed(f"Delete document {document_id}?", meaning, verb="Delete for good"):
        return
    receipt = await viewer.app.delete(document_id, actor=viewer.call.name)
    await shown(f"Document {document_id} is gone", receipt_markup(receipt))
    ui.navigate.to("/jobs")


def receipt_markup(receipt: Receipt) -> Markup:
    """Everything that was removed, counted."""
    counted = asdict(receipt)
    told = {name.replace("_", " "): count(number) for name, number in counted.items() if name != "bytes"}
    rows = [
        tag("div", tag("dt", name), tag("dd", number))
        for name, number in {**told, "stored content": size(receipt.bytes)}.items()
    ]
    return tag("dl", rows, class_="facts")


async def _done(viewer: Viewer, act: Act, selection: Selection) -> str:
    match act.name:
        case "retry":
            return outcome(await viewer.control.retry(selection))
        case "reset":
            return outcome(await viewer.control.reset(selection))
        case "cancel":
            return outcome(await viewer.control.cancel(selection))
        case _:
            raise AssertionError(f"nobody can {act.name} jobs")
