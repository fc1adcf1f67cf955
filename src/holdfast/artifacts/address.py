"""Where artifacts live: the store's URL taken apart, and the name under which each object is kept."""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from holdfast.errors import InvalidInput

DEFAULT_REGION = "us-east-1"
SHOWN_LETTERS = 40

_HASH = re.compile(r"[0-9a-f]{64}")
_NOT_SHOWN = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the file system."""

    path: Path


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket of S3 or of something that speaks like it. No endpoint: Amazon's own."""

    name: str
    prefix: str
    endpoint: str | None
    region: str


Address: TypeAlias = Folder | Bucket


def parse_address(url: str) -> Address:
    """The place a URL names, or InvalidInput. No message repeats the URL, which may carry a password."""
    try:
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    except ValueError as error:
        raise _refusal(str(error)) from error
    if parts.scheme == "file" and not parts.netloc and parts.path.startswith("/") and not query:
        return Folder(Path(unquote(parts.path)))
    if parts.scheme != "s3" or not parts.netloc:
        raise _refusal("neither a folder nor a bucket")
    if "@" in parts.netloc:
        raise _refusal("credentials do not belong in it, put them into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    strangers = sorted(set(query) - {"endpoint", "region"})
    if strangers:
        raise _refusal(f"it has no option {', '.join(strangers)}")
    region = query.get("region") or os.environ.get("AWS_REGION") or DEFAULT_REGION
    return Bucket(parts.netloc, parts.path.strip("/"), query.get("endpoint"), region)


def shelf_of(organisation: str) -> str:
    """A folder name that no two organisations share and that leads nowhere else, whatever they are called.

    The letters in front are for people; only the digest tells organisations apart.
    """
    try:
        digest = hashlib.sha256(organisation.encode()).hexdigest()[:32]
    except UnicodeEncodeError as error:
        raise InvalidInput("the organisation's name holds a lone surrogate: decode it properly first") from error
    if not organisation:
        raise InvalidInput("an artifact belongs to an organisation: name it")
    shown = _NOT_SHOWN.sub("-", organisation.lower())[:SHOWN_LETTERS].strip("-") or "organisation"
    return f"{shown}-{digest}"


def is_hash(name: str) -> bool:
    """Whether it is the name of an artifact."""
    return _HASH.fullmatch(name) is not None


def key_of(organisation: str, content_hash: str) -> str:
    """The name of the object that holds this content of this organisation."""
    if not is_hash(content_hash):
        raise InvalidInput("an artifact is named by its SHA-256 in 64 lower-case hexadecimal digits")
    return f"{shelf_of(organisation)}/{content_hash[:2]}/{content_hash}"


def _refusal(reason: str) -> InvalidInput:
    return InvalidInput(
        f"HOLDFAST_STORAGE_URL is invalid: {reason}; write it as file:///folder or "
        "s3://bucket/prefix?endpoint=https://host&region=name"
    )
