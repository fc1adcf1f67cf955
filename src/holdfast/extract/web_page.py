"""Reads HTML."""

import re
from html import unescape

from holdfast.errors import TooLarge
from holdfast.extract.conversion import convert
from holdfast.extract.readers.decoding import decode_as
from holdfast.extract.readers.encoding import Encoding, detect_page_encoding
from holdfast.extract.reading import Progress, Reading, Source

# The whole tree of a page is in memory at once, at many times its size.
_MOST_BYTES = 50 << 20
_HEAD_BYTES = 64 << 10
_TITLE = re.compile(r"<title[^>]*>([^<]{1,2000})</title", re.IGNORECASE)
_CHARSET = re.compile(rb"<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)


def read_web_page(source: Source, reading: Reading, progress: Progress) -> None:
    """Write the text of the page with its headings, lists, tables and links, without scripts, styles and menus."""
    size = source.path.stat().st_size
    if size > _MOST_BYTES:
        raise TooLarge(
            f"{source.name} has {size:,} bytes; pages of up to {_MOST_BYTES:,} are read: split it",
            error_code="PAGE_LIMIT",
        )
    text = "".join(decode_as(_encoding_of(source), source, reading, progress))
    title = _TITLE.search(text[:_HEAD_BYTES])
    reading.title = " ".join(unescape(title[1]).split()) if title else None
    reading.extractor = "xberg"
    reading.write(convert(text.encode(errors="replace"), "text/html").content)


def _encoding_of(source: Source) -> Encoding:
    """Believe the byte order mark, else what the server declares, else the page itself, as the HTML standard does."""
    with source.path.open("rb") as file:
        said = _CHARSET.search(file.read(_HEAD_BYTES))
    if not said:
        return detect_page_encoding(source.path, source.charsets)
    # A declaration that could be read cannot have been in UTF-16.
    name = said[1].decode().lower()
    return detect_page_encoding(source.path, (*source.charsets, "utf-8" if name.startswith("utf-16") else name))
