"""Links, which are only written down here: the first phase follows them."""

from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from holdfast.errors import InvalidInput
from holdfast.intake.found import Found
from holdfast.intake.names import safe_name

PLATFORM = "url"

_SCHEMES = frozenset({"http", "https"})
_MOST_CHARACTERS = 4_096


def is_link(text: str) -> bool:
    """Whether it is meant as a link rather than as a path."""
    return "://" in text


def linked(url: str) -> Found:
    """The document that a link leads to. InvalidInput for one that is never followed.

    Its location is the link without the part that only names a place on the page.
    """
    parts = _parsed(url)
    location = urlunsplit(parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower(), fragment=""))
    name = unquote(parts.path.rstrip("/").rpartition("/")[2]) or parts.hostname or ""
    return Found(name=safe_name(name), platform=PLATFORM, location=location)


def _parsed(url: str) -> SplitResult:
    try:
        url.encode()
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidInput(f"this link cannot be read ({error}): correct it") from error
    if parts.scheme.lower() not in _SCHEMES:
        raise InvalidInput(f'a link that begins with "{parts.scheme[:20]}:" is not followed: give http or https')
    if not host or len(url) > _MOST_CHARACTERS or not url.isprintable():
        raise InvalidInput("this link has no host, is endless or holds what cannot be printed: correct it")
    if parts.username is not None or parts.password is not None:
        raise InvalidInput("this link carries a user name or password, which would be stored: give one without")
    return parts
