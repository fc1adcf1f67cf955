"""Documents as Word wrote them from 1997 to 2003: a header, text in pieces of two encodings, and tables about it."""

import struct
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TypeAlias

from tests.extract.compound_files import compound_file_of
from tests.extract.old_summaries import summary

_PAGE = 512
_TEXT_AT = 2 * _PAGE  # behind the header
_TABLES = {"styles": 1, "characters": 12, "paragraphs": 13, "properties": 31, "pieces": 33}
_FIXED_STYLES = 15
_STYLE_NAMES = ("Normal", "heading 1", "heading 2", "heading 3")

Paragraph: TypeAlias = tuple[int, str]


def doc(paragraphs: Sequence[Paragraph], *, title: str | None = None) -> bytes:
    """A document of up to 28 of these: the level of a heading, or zero, and the text."""
    texts = [text + "\r" for _, text in paragraphs]
    pieces = [_encoded(text) for text in texts]
    bounds = list(accumulate(map(len, pieces), initial=_TEXT_AT))
    first_page = -(-bounds[-1] // _PAGE)
    tables = {
        "styles": _styles(),
        "characters": struct.pack("<3I", _TEXT_AT, bounds[-1], first_page),
        "paragraphs": struct.pack("<3I", _TEXT_AT, bounds[-1], first_page + 1),
        "properties": bytes(500),
        "pieces": _piece_table(texts, bounds),
    }
    pages = _character_page(bounds) + _paragraph_page([level for level, _ in paragraphs], bounds)
    header = _header(tables, characters=sum(map(len, texts)), end=bounds[-1])
    text = (header.ljust(_TEXT_AT, b"\0") + b"".join(pieces)).ljust(first_page * _PAGE, b"\0")
    return compound_file_of(
        {"WordDocument": text + pages, "1Table": b"".join(tables.values()), **summary(title)},
    )


def _encoded(text: str) -> bytes:
    """A byte for a letter where Western Europe's letters are enough, or else two."""
    return text.encode("latin-1" if _is_narrow(text) else "utf-16-le")


def _is_narrow(text: str) -> bool:
    return max(text) < "\u0100"


def _header(tables: Mapping[str, bytes], *, characters: int, end: int) -> bytes:
    base = struct.pack("<7H", 0xA5EC, 0x00C1, 0, 0x0407, 0, 0x1200, 0x00BF) + bytes(10)
    base += struct.pack("<2I", _TEXT_AT, end)
    numbers = [end, 0, 0, characters, *[0] * 18]
    places = [0] * (2 * 93)
    starts = accumulate(map(len, tables.values()), initial=0)
    for start, (name, table) in zip(starts, tables.items(), strict=False):
        places[2 * _TABLES[name] : 2 * _TABLES[name] + 2] = start, len(table)
    words = struct.pack("<15H", 14, *[0] * 13, 0x0407)
    return base + words + struct.pack("<H22I", 22, *numbers) + struct.pack("<H186IH", 93, *places, 0)


def _piece_table(texts: Sequence[str], bounds: Sequence[int]) -> bytes:
    places = [2 * at | 0x4000_0000 if _is_narrow(text) else at for text, at in zip(texts, bounds, strict=False)]
    characters = accumulate(map(len, texts), initial=0)
    table = struct.pack(f"<{len(texts) + 1}I", *characters)
    table += b"".join(struct.pack("<HIH", 0, place, 0) for place in places)
    return struct.pack("<BI", 2, len(table)) + table


def _character_page(bounds: Sequence[int]) -> bytes:
    """All text looks as its style says."""
    return struct.pack("<2IB", bounds[0], bounds[-1], 0).ljust(_PAGE - 1, b"\0") + b"\x01"


def _paragraph_page(levels: Sequence[int], bounds: Sequence[int]) -> bytes:
    """Each paragraph has a style, which lies at the end of the page."""
    styles_at = _PAGE - 4 - 4 * len(_STYLE_NAMES)
    page = struct.pack(f"<{len(bounds)}I", *bounds)
    page += b"".join(struct.pack("<B12x", styles_at // 2 + 2 * level) for level in levels)
    page = page.ljust(styles_at, b"\0") + b"".join(struct.pack("<2BH", 0, 1, n) for n in range(len(_STYLE_NAMES)))
    return page.ljust(_PAGE - 1, b"\0") + struct.pack("<B", len(levels))


def _styles() -> bytes:
    """The first ten are headings by their number, whatever else is said of them."""
    head = struct.pack("<9H", _FIXED_STYLES, 10, 1, 0x5B, _FIXED_STYLES, 0, 0, 0, 0)
    styles = [_style(number, name) for number, name in enumerate(_STYLE_NAMES)]
    styles += [b""] * (_FIXED_STYLES - len(styles))
    return b"".join(struct.pack("<H", len(part)) + part for part in [head, *styles])


def _style(number: int, name: str) -> bytes:
    above = 0xFFF if number == 0 else 0
    shown = struct.pack("<H", len(name)) + name.encode("utf-16-le") + bytes(2)
    changes = struct.pack("<3H", 2, number, 0)
    size = 10 + len(shown) + len(changes)
    return struct.pack("<5H", number, above << 4 | 1, 2, size, 0) + shown + changes
