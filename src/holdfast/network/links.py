"""Reads links of unknown origin, and refuses those that nobody should follow."""

import httpx2

from holdfast.errors import SourceGone

DEFAULT_PORTS = {"http": 80, "https": 443}


def parse_link(url: str, *, base: httpx2.URL | None = None) -> httpx2.URL:
    """The link, as it stands on the page `base` if there is one. Raises SourceGone that says what is wrong with it."""
    try:
        parsed = httpx2.URL(url) if base is None else base.join(url)
    except httpx2.InvalidURL as error:
        raise _refusal(str(error)) from error
    if parsed.scheme not in DEFAULT_PORTS:
        raise _refusal(f'"{parsed.scheme}:" is neither http nor https')
    if not parsed.host:
        raise _refusal("it names no host")
    if parsed.userinfo:
        raise _refusal("it carries a user name, which would be stored; give one without")
    return parsed


def _refusal(reason: str) -> SourceGone:
    return SourceGone(f"the link is refused: {reason}", error_code="ADDRESS_REFUSED")
