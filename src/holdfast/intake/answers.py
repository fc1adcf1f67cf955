"""Reads the answers of web servers, as far as they can be believed, and turns their failures into ours."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from typing import NoReturn
from urllib.parse import unquote

import httpx2

from holdfast.engine.foreign import retry_after_in
from holdfast.errors import CorruptInput, NetworkTimeout, RateLimited, SourceGone
from holdfast.intake.names import UNNAMED, extension_of, safe_name

# For links that end in no file name: what the server claims breaks the tie between kinds of text.
_EXTENSIONS = {
    "application/json": ".json",
    "application/x-subrip": ".srt",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/tab-separated-values": ".tsv",
    "text/vtt": ".vtt",
}
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:+-]{1,40})", re.IGNORECASE)
_GONE = frozenset({404, 410})
_PASSING = frozenset({408, 425})
_DAY_SECONDS = 86_400


def name_of(answer: httpx2.Response, url: httpx2.URL) -> str:
    """A file name for what came: the server's own, else the link's last part, else the host."""
    stated = _stated_name(str(answer.headers.get("content-disposition", "")))
    name = safe_name(stated or unquote(url.path.rstrip("/").rpartition("/")[2]) or url.host)
    claimed = str(answer.headers.get("content-type", "")).partition(";")[0].strip().lower()
    if stated or (extension_of(name) and name != safe_name(url.host)):
        return name
    return safe_name(name + _EXTENSIONS.get(claimed, ""))


def refuse_failure(answer: httpx2.Response, *, host: str) -> None:
    """Raise what an answer means that is not the document."""
    status = answer.status_code
    if 200 <= status < 300:
        return
    if status == 429 or status >= 500 or status in _PASSING:
        _raise_passing(answer, host)
    if status in _GONE:
        raise SourceGone(f"{host} answered {status}: nothing is there", error_code=f"HTTP_{status}")
    text = f"{host} answered {status}: it does not give this document to us; fetch it by hand and ingest the file"
    raise SourceGone(text, error_code="SOURCE_REFUSED", details={"status": status})


@contextmanager
def translated(host: str) -> Iterator[None]:
    """Turn what the client raises into our errors."""
    try:
        yield
    except httpx2.DecodingError as error:
        text = f"{host} sent what cannot be decompressed: {error}"
        raise CorruptInput(text, error_code="BAD_CONTENT_ENCODING") from error
    except httpx2.TimeoutException as error:
        raise NetworkTimeout(f"{host} stayed silent: {type(error).__name__}", error_code="NO_ANSWER") from error
    except httpx2.HTTPError as error:
        text = f"{host} broke off or could not be reached: {str(error) or type(error).__name__}"
        raise NetworkTimeout(text, error_code="CONNECTION_FAILED") from error


def charset_of(content_type: str) -> str | None:
    """The charset that a Content-Type header declares, whether or not there is such a one."""
    declared = _CHARSET.search(content_type)
    return declared[1] if declared else None


def _raise_passing(answer: httpx2.Response, host: str) -> NoReturn:
    status, seconds = answer.status_code, retry_after_in(answer.headers)
    kind = RateLimited if status == 429 else NetworkTimeout
    asks = "it asks for fewer calls" if status == 429 else "it may be back later"
    if seconds is not None:
        asks = f"it asks to wait {seconds:,.0f} s" if seconds <= _DAY_SECONDS else "it asks to wait for days"
        asks += ", and is asked again after a minute at the earliest and a day at the latest"
    raise kind(f"{host} answered {status}: {asks}", error_code=f"HTTP_{status}", retry_after_seconds=seconds)


def _stated_name(disposition: str) -> str:
    """The file name of a Content-Disposition header, in whatever of its spellings; empty if none can be read."""
    message = Message()
    message["Content-Disposition"] = disposition.replace("\r", " ").replace("\n", " ")
    try:
        name = safe_name(message.get_filename() or "")
    except (LookupError, ValueError):
        # An unknown or lying charset in the extended spelling.
        return ""
    return "" if name == UNNAMED else name
