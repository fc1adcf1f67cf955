"""Errors as callers see them: problem documents (RFC 9457) with a stable code."""

import math
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from holdfast.api.headers import HEADERS
from holdfast.engine import events
from holdfast.errors import (
    Conflict,
    DatabaseUnavailable,
    DatabaseUnusable,
    HoldfastError,
    InvalidInput,
    NotFound,
    StorageUnavailable,
    TooLarge,
)

MEDIA_TYPE = "application/problem+json"

_STATUS: dict[type[HoldfastError], tuple[int, str]] = {
    NotFound: (404, "not_found"),
    Conflict: (409, "conflict"),
    TooLarge: (413, "too_large"),
    InvalidInput: (422, "invalid_input"),
    StorageUnavailable: (503, "storage_unavailable"),
    DatabaseUnavailable: (503, "database_unavailable"),
    DatabaseUnusable: (500, "database_unusable"),
}
_TITLES = {
    400: "The request cannot be read",
    401: "Who are you?",
    403: "Your key does not allow this",
    404: "There is no such thing",
    405: "This cannot be done here",
    408: "This takes too long",
    409: "This contradicts what is stored",
    413: "This is too large",
    415: "This cannot be read",
    422: "A value makes no sense",
    429: "Too many calls",
    500: "We failed",
    503: "Try again later",
}
_CODES = {
    400: "bad_request",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid_input",
}


class Problem(BaseModel):
    """What went wrong. `code` never changes its meaning; `detail` is for people."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str = Field(examples=["not_found"])
    errors: list[dict[str, Any]] | None = Field(default=None, description="Which values, where several are wrong.")


class Refused(Exception):
    """A request that is not served, with its status and code."""

    def __init__(self, status: int, code: str, detail: str, *, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.headers = headers


def too_many_calls(seconds: float) -> Refused:
    """Refuse until so much later."""
    wait = str(max(1, math.ceil(seconds)))
    return Refused(429, "too_many_calls", f"call again in {wait} s", headers={"Retry-After": wait})


def answer_problems(api: FastAPI) -> None:
    """Have every error answered as a problem document; none shows what is inside."""

    @api.exception_handler(Refused)
    async def refused(_: Request, error: Refused) -> JSONResponse:
        return problem_answer(error.status, error.code, str(error), headers=error.headers)

    @api.exception_handler(HoldfastError)
    async def expected(_: Request, error: HoldfastError) -> JSONResponse:
        for kind, (status, code) in _STATUS.items():
            if isinstance(error, kind):
                return problem_answer(status, code, _told(status, error))
        raise error

    @api.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        wrong = [{"where": ".".join(map(str, one["loc"])), "what": one["msg"]} for one in error.errors()]
        detail = "; ".join(f"{one['where']}: {one['what']}" for one in wrong)
        return problem_answer(422, "invalid_input", detail, errors=wrong)

    @api.exception_handler(HTTPException)
    async def plain(_: Request, error: HTTPException) -> JSONResponse:
        code = _CODES.get(error.status_code, "refused")
        return problem_answer(error.status_code, code, str(error.detail), headers=dict(error.headers or {}))

    @api.exception_handler(ClientDisconnect)
    async def gone(_: Request, error: ClientDisconnect) -> JSONResponse:
        return problem_answer(400, "bad_request", "the request broke off")

    @api.exception_handler(Exception)
    async def unexpected(_: Request, error: Exception) -> JSONResponse:
        # Answered outside of everything that is around other answers.
        return problem_answer(500, "failed", "this failed for a reason that its log tells", headers=HEADERS)


def _told(status: int, error: HoldfastError) -> str:
    """What a caller may know: of our own troubles, only that there are some, and whether they pass by themselves."""
    if status < 500:
        return str(error)
    events.call_not_served(error)
    if status == 503:
        return "this cannot be done right now: call again later"
    return "the server's operator has to act first, its log says how: calling again does not help before"


def problem_answer(
    status: int,
    code: str,
    detail: str,
    *,
    headers: dict[str, str] | None = None,
    errors: list[dict[str, Any]] | None = None,
) -> JSONResponse:
    """A problem document."""
    problem = Problem(title=_TITLES.get(status, "Refused"), status=status, detail=detail, code=code, errors=errors)
    return JSONResponse(
        problem.model_dump(exclude_none=True), status_code=status, headers=headers, media_type=MEDIA_TYPE
    )
