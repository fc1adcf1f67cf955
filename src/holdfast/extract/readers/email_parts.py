"""What single parts of a message hold, whatever is wrong with their headers."""

import io
import mimetypes
from contextlib import suppress
from email.errors import MessageError
from email.generator import BytesGenerator
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath
from typing import TypeAlias

Part: TypeAlias = "Message[str, str]"

# What the standard library's parser is known to raise on malformed mail.
PARSER_ERRORS = (MessageError, ValueError, LookupError, TypeError, AttributeError, AssertionError)

_MOST_HEADER_CHARACTERS = 2_000
# Codecs that are no encodings of mail, and slow or dangerous on long input.
_NO_CHARSETS = {"punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined"}


def header(part: Part, name: str) -> str:
    """The header in one line, decoded, as far as it can be; nothing if there is none."""
    raw = next((value for found, value in part.raw_items() if found.lower() == name.lower()), "")
    return _decoded(str(raw)[:_MOST_HEADER_CHARACTERS])


def date(part: Part) -> str:
    """When it was sent, with its zone; as it is written if that is no date."""
    written = header(part, "Date")
    try:
        return parsedate_to_datetime(written).isoformat(sep=" ")
    except PARSER_ERRORS:
        return written


def given_name(part: Part) -> str:
    """The attachment's name as its sender wrote it, or nothing."""
    try:
        return _decoded(part.get_filename() or "")
    except PARSER_ERRORS:
        return ""


def file_name(part: Part) -> str:
    """The last component of the attachment's name, or one made from what it is."""
    kind, given = part.get_content_type(), given_name(part)
    if not given and kind == "message/rfc822":
        return f"{header(_attached(part), 'Subject').replace('/', '-') or 'message'}.eml"
    return PurePosixPath(given.replace("\\", "/")).name or f"attachment{mimetypes.guess_extension(kind) or '.bin'}"


def content(part: Part) -> bytes:
    """The bytes of an attachment; of an attached message, the message."""
    if part.is_multipart():
        return _as_bytes(_attached(part))
    try:
        payload = part.get_payload(decode=True)
    except PARSER_ERRORS:
        payload = None
    return payload if isinstance(payload, bytes) else b""


def text(part: Part) -> str:
    """The text of a letter in the encoding it declares, or the one it has."""
    data = content(part)
    declared = (part.get_content_charset() or "utf-8").lower().replace("-", "_")
    for name in (declared, "utf-8"):
        try:
            if name not in _NO_CHARSETS:
                return data.decode(name)
        except (LookupError, ValueError):
            continue
    return data.decode("cp1252", "replace")


def _attached(part: Part) -> Part:
    payload = part.get_payload()
    first = payload[0] if isinstance(payload, list) and payload else part
    return part if isinstance(first, str) else first


def _as_bytes(message: Part) -> bytes:
    written = io.BytesIO()
    # What was written before it stumbled is better than nothing.
    with suppress(*PARSER_ERRORS):
        BytesGenerator(written, mangle_from_=False, maxheaderlen=0).flatten(message)
    return written.getvalue()


def _decoded(raw: str) -> str:
    try:
        plain = raw.encode("ascii", "surrogateescape")
    except UnicodeEncodeError:
        return _one_line(raw)
    try:
        value = plain.decode("utf-8")
    except UnicodeDecodeError:
        value = plain.decode("cp1252", "replace")
    try:
        return _one_line(str(make_header(decode_header(value))))
    except PARSER_ERRORS:
        return _one_line(value)


def _one_line(value: str) -> str:
    return " ".join(value.split())
