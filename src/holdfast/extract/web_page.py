"""Reads HTML."""

import codecs
import re
from html import unescape

from holdfast.errors import TooLarge
from holdfast.extract.conversion import convert
from holdfast.extract.reading import Progress, Reading, Source

# The whole tree of a page is in memory at once, at many times its size.
_MOST_BYTES = 50 << 20
_HEAD_BYTES = 64 << 10
_TITLE = re.compile(r"<title[^>]*>([^<]{1,2000})</title", re.IGNORECASE)
_CHARSET = re.compile(rb"<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def read_web_page(source: Source, reading: Reading, progress: Progress) -> None:
    """Write the text of the page with its headings, lists, tables and links, without scripts, styles and menus."""
    size = source.path.stat().st_size
    if size > _MOST_BYTES:
        raise TooLarge(
            f"{source.name} has {size:,} bytes; pages of up to {_MOST_BYTES:,} are read: split it",
            error_code="PAGE_LIMIT",
        )
    text = _decode(source.path.read_bytes(), reading)
    title = _TITLE.search(text[:_HEAD_BYTES])
    reading.title = " ".join(unescape(title[1]).split()) if title else None
    reading.extractor = "xberg"
    reading.write(convert(text.encode(errors="replace"), "text/html").content)


def _decode(data: bytes, reading: Reading) -> str:
    """Believe the byte order mark, else what the page declares, else UTF-8, else what browsers assume."""
    for encoding in _candidates(data):
        try:
            return data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    reading.warn("ENCODING_GUESSED", "the page does not say in which encoding it is written: taken as Windows-1252")
    return data.decode("cp1252", errors="replace")


def _candidates(data: bytes) -> list[str]:
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return [encoding]
    declared = _CHARSET.search(data[:_HEAD_BYTES])
    name = declared[1].decode().lower() if declared else "utf-8"
    # A declaration that could be read cannot have been in UTF-16; browsers read Latin-1 as its superset.
    name = {"utf-16": "utf-8", "iso-8859-1": "cp1252", "latin1": "cp1252"}.get(name, name)
    return [name, "utf-8"]
