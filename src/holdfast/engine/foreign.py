"""Reads errors of other libraries by their shape, so that none of those libraries need be imported."""

import errno
import inspect
import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from holdfast.errors import Category, DatabaseUnavailable, StatementTimedOut

# A date far in the future must not hold a provider for years.
RETRY_AFTER_LIMIT_SECONDS = 7 * 86_400.0

_BY_CODE = {
    "rate_limit_exceeded": Category.RATE_LIMIT,
    "rate_limit_error": Category.RATE_LIMIT,
    "budget_exceeded": Category.BUDGET_EXCEEDED,
    "insufficient_quota": Category.BUDGET_EXCEEDED,
    "content_policy_violation": Category.CONTENT_POLICY,
    "content_filter": Category.CONTENT_POLICY,
    "context_length_exceeded": Category.TOKEN_LIMIT,
}
_BY_STATUS = {
    401: Category.AUTH,
    402: Category.BUDGET_EXCEEDED,
    403: Category.AUTH,
    404: Category.SOURCE_GONE,
    407: Category.AUTH,
    408: Category.NETWORK_TIMEOUT,
    410: Category.SOURCE_GONE,
    413: Category.TOO_LARGE,
    429: Category.RATE_LIMIT,
}
_BY_ERRNO = {
    errno.EAGAIN: Category.RESOURCE_EXHAUSTED,
    errno.EMFILE: Category.RESOURCE_EXHAUSTED,
    errno.ENFILE: Category.RESOURCE_EXHAUSTED,
    errno.ENOMEM: Category.RESOURCE_EXHAUSTED,
    errno.ENOSPC: Category.STORAGE_UNAVAILABLE,
    errno.EDQUOT: Category.STORAGE_UNAVAILABLE,
    errno.EIO: Category.STORAGE_UNAVAILABLE,
    errno.EROFS: Category.STORAGE_UNAVAILABLE,
    errno.EFBIG: Category.TOO_LARGE,
    errno.ENETDOWN: Category.NETWORK_TIMEOUT,
    errno.ENETUNREACH: Category.NETWORK_TIMEOUT,
    errno.EHOSTDOWN: Category.NETWORK_TIMEOUT,
    errno.EHOSTUNREACH: Category.NETWORK_TIMEOUT,
    # ENOENT is missing on purpose: a handler's FileNotFoundError is as often its own bug or a missing program
    # as a missing document, and source_gone gives up for good. A source that knows raises SourceGone.
}
# Names from the standard library, httpx, requests, aiohttp, urllib3 and the SDKs built on them.
_NETWORK_NAMES = frozenset(
    {
        "APIConnectionError",
        "ClientConnectionError",
        "ClientPayloadError",
        "ConnectionError",
        "IncompleteRead",
        "ProtocolError",
        "SSLError",
        "Timeout",
        "TimeoutError",
        "TimeoutException",
        "TransportError",
        "gaierror",
        "herror",
    }
)


def recognise(exception: BaseException) -> Category | None:
    """Return the category of an error that is not ours, or None if nothing about it tells."""
    code = provider_code(exception)
    if code in _BY_CODE:
        return _BY_CODE[code]
    status = http_status(exception)
    if status is not None:
        return Category.NETWORK_TIMEOUT if status >= 500 else _BY_STATUS.get(status)
    return _recognise_by_type(exception)


def _recognise_by_type(exception: BaseException) -> Category | None:
    match exception:
        case StatementTimedOut():
            return Category.TIMEOUT
        case DatabaseUnavailable():
            return Category.STORAGE_UNAVAILABLE
        case json.JSONDecodeError():
            return Category.JSON_PARSE
        case MemoryError():
            return Category.RESOURCE_EXHAUSTED
        case RuntimeError() if str(exception) == "can't start new thread":
            return Category.RESOURCE_EXHAUSTED
        case OSError() if exception.errno in _BY_ERRNO:
            return _BY_ERRNO[exception.errno]
    names = {kind.__name__ for kind in type(exception).__mro__}
    return Category.NETWORK_TIMEOUT if names & _NETWORK_NAMES else None


def http_status(exception: BaseException) -> int | None:
    """Return the HTTP status of a failed answer (400 to 599) if the error carries one."""
    if not isinstance(exception, Exception):
        return None  # SystemExit has a code too
    response = getattr(exception, "response", None)
    for holder in (response, exception):
        for name in ("status_code", "status", "code"):
            status = getattr(holder, name, None)
            if type(status) is int and 400 <= status <= 599:
                return status
    return None


def provider_code(exception: BaseException) -> str | None:
    """Return the code by which the provider names the error, such as `rate_limit_exceeded`."""
    code = getattr(exception, "code", None)
    if isinstance(code, str):
        return code
    for body in _bodies(exception):
        error = body.get("error")
        for part in (error, body):
            if isinstance(part, Mapping):
                for name in ("code", "type"):
                    if isinstance(part.get(name), str):
                        return str(part[name])
    return None


def _bodies(exception: BaseException) -> Iterator[Mapping[object, object]]:
    body = getattr(exception, "body", None)
    if isinstance(body, Mapping):
        yield body
    read_json = getattr(getattr(exception, "response", None), "json", None)
    if not callable(read_json) or inspect.iscoroutinefunction(read_json):
        return
    try:
        answer = read_json()
    except Exception:
        return  # an HTML page, or a stream nobody read: the status still tells
    if isinstance(answer, Mapping):
        yield answer


def retry_after_seconds(exception: BaseException) -> float | None:
    """Return how long the answer's Retry-After header asks to wait, measured on the server's own clock."""
    response = getattr(exception, "response", None)
    for holder in (response, exception):
        headers = _headers(holder)
        if "retry-after" in headers:
            return retry_after_in(headers)
    return None


def retry_after_in(headers: Mapping[str, str]) -> float | None:
    """Return how long an answer with these headers asks to wait; None if it asks for nothing that makes sense."""
    text = headers.get("retry-after")
    return None if text is None else _parse_retry_after(text, sent_at=headers.get("date"))


def bounded_seconds(seconds: object) -> float | None:
    """Return `seconds` as a wait between zero and a week, or None if it is no such number."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds):
        return None
    return min(float(seconds), RETRY_AFTER_LIMIT_SECONDS) if seconds >= 0 else None


def _headers(holder: object) -> dict[str, str]:
    headers = getattr(holder, "headers", None)
    items = getattr(headers, "items", None)
    return {str(name).lower(): str(value) for name, value in items()} if callable(items) else {}


def _parse_retry_after(text: str, sent_at: str | None) -> float | None:
    try:
        return bounded_seconds(float(text))
    except ValueError:
        until = _parse_date(text)
    if until is None:
        return None
    sent = _parse_date(sent_at) or datetime.now(UTC)
    return bounded_seconds(max(0.0, (until - sent).total_seconds()))


def _parse_date(text: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
