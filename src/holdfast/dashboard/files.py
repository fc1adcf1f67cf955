"""Documents to take away from a page: the original and its text, for whoever may look at it."""

from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

from holdfast.api.files import sent_original, sent_text
from holdfast.api.jobs import Id
from holdfast.dashboard.viewer import viewer_of


def add_files(api: FastAPI) -> None:
    """The same files that the API sends, for a viewer's session instead of a key."""

    @api.get("/documents/{document_id}/original", include_in_schema=False)
    async def original(request: Request, document_id: Id) -> StreamingResponse:
        return await sent_original(await viewer_of(request).app.original(document_id))

    @api.get("/documents/{document_id}/text", include_in_schema=False)
    async def text(request: Request, document_id: Id) -> StreamingResponse:
        return await sent_text(await viewer_of(request).app.text(document_id))
