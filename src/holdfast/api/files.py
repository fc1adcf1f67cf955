"""What a document keeps, sent as a file to be saved: never to be shown as a page of ours."""

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from holdfast.api.callers import Reader
from holdfast.api.jobs import Id
from holdfast.artifacts.document_file import DocumentFile

TEXT = "text/plain; charset=utf-8"
ANY_BYTES = "application/octet-stream"

files = APIRouter(tags=["documents"])


def _described(media_type: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {media_type: {"schema": {"type": "string", "format": "binary"}}}}}


@files.get("/documents/{document_id}/original", response_class=StreamingResponse, responses=_described(ANY_BYTES))
async def original(call: Reader, document_id: Id) -> StreamingResponse:
    """The document as it came in, byte for byte."""
    return await sent_original(await call.app.original(document_id))


@files.get("/documents/{document_id}/text", response_class=StreamingResponse, responses=_described(TEXT))
async def text(call: Reader, document_id: Id) -> StreamingResponse:
    """The text that was extracted from it, as UTF-8."""
    return await sent_text(await call.app.text(document_id))


async def sent_original(file: DocumentFile) -> StreamingResponse:
    """The answer that carries an original. Whatever it says it is, it is bytes to us."""
    return await _sent(file, file.name, ANY_BYTES)


async def sent_text(file: DocumentFile) -> StreamingResponse:
    """The answer that carries an extracted text."""
    return await _sent(file, f"{file.name}.txt", TEXT)


async def _sent(file: DocumentFile, name: str, media_type: str) -> StreamingResponse:
    """Breaks off where the content turns out to be damaged. No length is told, so that nobody takes it for whole."""
    await file.check()
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingResponse(file.content(), media_type=media_type, headers=headers)
