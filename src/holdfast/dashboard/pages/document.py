"""Leads from a document to where it is shown: the page of its newest job."""

from fastapi import Request
from fastapi.responses import RedirectResponse
from nicegui import ui

from holdfast.dashboard.frame import framed, page
from holdfast.dashboard.viewer import Viewer, viewer_of
from holdfast.errors import HoldfastError, NotFound


@page("/documents/{document_id}")
async def document(request: Request, document_id: int) -> RedirectResponse | None:
    """A redirect, or the reason why there is nothing to see."""
    try:
        job_id = await _newest_job(viewer_of(request), document_id)
    except HoldfastError as error:
        with framed(request, "/jobs", heading="Document"):
            ui.label(str(error)).classes("problem").props("role=alert")
        return None
    return RedirectResponse(f"/jobs/{job_id}", 303)


async def _newest_job(viewer: Viewer, document_id: int) -> int:
    document = await viewer.app.overview.pipeline_of(document_id)
    if not document["jobs"]:
        raise NotFound(f"document {document_id} has no job: submit it again")
    newest: int = max(job["job_id"] for job in document["jobs"])
    return newest
