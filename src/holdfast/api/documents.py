"""Documents: sent in, looked at, removed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, WithJsonSchema
from starlette.datastructures import FormData, UploadFile
from starlette.types import Message

from holdfast.api.callers import Call, Reader, Writer
from holdfast.api.jobs import Id
from holdfast.api.problems import Refused
from holdfast.api.shapes import Accepted, Document, JobWithAttempts, Known, Removed, Warning
from holdfast.engine.strict_json import load
from holdfast.errors import InvalidInput, NotFound, StorageUnavailable, TooLarge
from holdfast.intake.found import Found
from holdfast.intake.intake import Result, Taken
from holdfast.intake.names import safe_name
from holdfast.intake.sources.links import linked
from holdfast.pipelines import DOCUMENTS

PLATFORM = "upload"
MOST_FIELDS = 20
FIELD_BYTES = 1 << 20
FORM_BYTES = 1 << 16  # what a form adds to its file
FIRST_RESULTS = (Result.CREATED, Result.DUPLICATE)

documents = APIRouter(tags=["documents"])

Key = Annotated[
    str | None,
    Header(min_length=1, max_length=255, description="The same key and document: the same answer, however often."),
]


# Spelt out: what is described inside a path cannot refer to definitions of its own.
Metadata = Annotated[dict[str, JsonValue], WithJsonSchema({"type": "object", "additionalProperties": True})]


class About(BaseModel):
    """What is said about a document that is sent in."""

    model_config = ConfigDict(extra="forbid")

    organisation: str | None = Field(default=None, min_length=1, max_length=255)
    metadata: Metadata = Field(default_factory=dict)
    priority: int = Field(default=0, ge=-100, le=100)
    pipeline: str = Field(default=DOCUMENTS, pattern="^[a-z][a-z0-9_]{0,62}$", description="Which carries it.")


class AboutFile(About):
    """What is said about a file."""

    location: str | None = Field(
        default=None, min_length=1, max_length=4096, description="Where it stands at its source."
    )
    platform: str = Field(default=PLATFORM, pattern="^[a-z0-9_-]{1,63}$")


class Link(About):
    """A document to be fetched."""

    url: str = Field(min_length=1, max_length=4096, examples=["https://example.org/handbook.pdf"])


_UPLOAD = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {"type": "string", "format": "binary"},
        "organisation": {"type": "string"},
        "location": {"type": "string"},
        "platform": {"type": "string"},
        "metadata": {"type": "string", "description": "A JSON object."},
        "priority": {"type": "integer"},
        "pipeline": {"type": "string"},
    },
}
_BODY = {
    "required": True,
    "content": {
        "multipart/form-data": {"schema": _UPLOAD},
        "application/json": {"schema": Link.model_json_schema()},
    },
}


@documents.post(
    "/documents",
    status_code=202,
    response_model=Accepted,
    openapi_extra={"requestBody": _BODY},
)
async def submit(request: Request, response: Response, call: Writer, idempotency_key: Key = None) -> Accepted:
    """Send a document in, as a file or as a link. It is stored when this answers; its phases follow."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    match kind:
        case "multipart/form-data":
            answer = await _upload(request, call, idempotency_key)
        case "application/json":
            answer = await _link(request, call, idempotency_key)
        case _:
            raise Refused(415, "unsupported_media_type", "send multipart/form-data with a file, or JSON with a url")
    response.headers["Location"] = f"/v1/documents/{answer.accepted.document_id}"
    if answer.is_replayed:
        response.headers["Idempotency-Replayed"] = "true"
    return answer.accepted


@documents.get("/documents/{document_id}", response_model=Document)
async def show(call: Reader, document_id: Id) -> Document:
    """A document with all its jobs, each with all its attempts, and what is known from it."""
    row = await call.app.overview.pipeline_of(document_id)
    if row["deleted_at"] is not None:
        raise NotFound(f"document {document_id} was removed")
    known = await call.app.knowledge([document_id])
    return Document.model_validate(
        {
            **row,
            "jobs": [JobWithAttempts.read(job) for job in row["jobs"]],
            "known": Known.model_validate(known),
            "warnings": Warning.read_all(await call.app.warnings([document_id])),
        }
    )


@documents.delete("/documents/{document_id}", response_model=Removed)
async def remove(call: Writer, document_id: Id) -> Removed:
    """Remove a document and everything that was made of it. This cannot be undone."""
    return Removed.model_validate(await call.app.delete(document_id, actor=call.name))


async def _upload(request: Request, call: Call, key: str | None) -> "_Answer":
    reading = await call.app.begin_reading()
    most = call.app.settings.most_file_mb << 20
    limited = Request(request.scope, _AtMost(request, most + FORM_BYTES))
    async with _read(limited) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise InvalidInput('the form has no file: send one in the field "file"')
        about = _about({name: value for name, value in form.items() if name != "file"})
        found = Found(
            name=safe_name(file.filename or "unnamed"),
            platform=about.platform,
            location=about.location,
            content=file.file,
            key=key,
            reading=reading,
        )
        return await _take(call, found, about)


@asynccontextmanager
async def _read(request: Request) -> AsyncIterator[FormData]:
    try:
        form = await request.form(max_files=1, max_fields=MOST_FIELDS, max_part_size=FIELD_BYTES)
    except UnicodeError as error:
        raise InvalidInput(f"the form is not written in the charset that it names: {error}") from error
    try:
        yield form
    finally:
        await form.close()


async def _link(request: Request, call: Call, key: str | None) -> "_Answer":
    body = b"".join([chunk async for chunk in Request(request.scope, _AtMost(request, FIELD_BYTES)).stream()])
    try:
        link = Link.model_validate_json(body)
    except ValidationError as error:
        raise InvalidInput(_what_is_wrong(error)) from error
    at = linked(link.url)
    return await _take(call, Found(name=at.name, platform=at.platform, location=at.location, key=key), link)


async def _take(call: Call, found: Found, about: About) -> "_Answer":
    intake = call.app.intake(about.pipeline)
    organisation = call.organisation(about.organisation)
    async for taken in intake.take_in(
        [found], organisation=organisation, metadata=about.metadata, priority=about.priority
    ):
        if taken.result is Result.TOO_LARGE:
            raise TooLarge(taken.reason or "the document is too large")
        if taken.result is Result.UNREADABLE:
            raise InvalidInput(taken.reason or "the document cannot be read")
        if taken.result is Result.WITHOUT_ROOM:
            raise StorageUnavailable(taken.reason or "there is no room for the document")
        return await _answer(call, organisation, taken)
    raise AssertionError("what was found is taken or refused")


@dataclass(frozen=True, slots=True)
class _Answer:
    accepted: Accepted
    is_replayed: bool = False


async def _answer(call: Call, organisation: str, taken: Taken) -> _Answer:
    """What became of it; under a key that came before, what was answered then, or Refused if another document came."""
    assert taken.document_id is not None
    now = Accepted(
        document_id=taken.document_id,
        job_id=taken.job_id,
        result=taken.result,
        metadata_merged=taken.metadata_merged,
    )
    key = taken.found.key
    earlier = await call.app.earlier(organisation, key) if key is not None else None
    if earlier is None or (earlier.document_id == taken.document_id and taken.result in FIRST_RESULTS):
        return _Answer(now)
    if not earlier.is_of(taken.found, taken.content_hash):
        raise Refused(422, "key_reused", f"this key came with another document before: {earlier.document_id}")
    return _Answer(Accepted.model_validate(earlier), is_replayed=True)


def _about(fields: dict[str, Any]) -> AboutFile:
    metadata = load(fields.pop("metadata", "{}").encode("utf-8", "surrogatepass"))
    try:
        return AboutFile.model_validate({**fields, "metadata": metadata})
    except ValidationError as error:
        raise InvalidInput(_what_is_wrong(error)) from error


def _what_is_wrong(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, one['loc'])) or 'body'}: {one['msg']}" for one in error.errors(include_input=False)
    )


class _AtMost:
    """Passes a body on until it is larger than it may be; one that says so beforehand is not listened to."""

    def __init__(self, request: Request, most: int) -> None:
        self._request = request
        self._most = most
        self._came = 0
        declared = request.headers.get("content-length", "")
        self._check(int(declared) if declared.isdecimal() else 0)

    async def __call__(self) -> Message:
        message = await self._request.receive()
        self._came += len(message.get("body", b""))
        self._check(self._came)
        return message

    def _check(self, size: int) -> None:
        if size > self._most:
            raise TooLarge(
                f"the body has more than {self._most:,} bytes: raise HOLDFAST_MOST_FILE_MB or split the document"
            )
