"""Looks at the cells of an OpenDocument spreadsheet, of which few may stand for many."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from xml.parsers import expat

from holdfast.errors import CorruptInput
from holdfast.extract.safe_xml import new_parser

_CELLS = ("table:table-cell", "table:covered-table-cell")
_FILLING = frozenset(
    {"table:formula", "office:value", "office:value-type"}
    | {f"office:{kind}-value" for kind in ("string", "date", "time", "boolean")}
)
# White space between the tags of a table has no meaning, but its reader gives up on it.
_SPACED_TAG = re.compile(rb"\s</?table:")
_SPACE = re.compile(rb"(?<!\s)\s++(?=</?table:)")


@dataclass(slots=True)
class Cells:
    """How many cells its reader lays out, those between the filled ones included, and whether it needs mending."""

    laid_out: int = 0
    needs_mending: bool = False


def look_at_cells(pieces: Iterable[bytes], name: str) -> Cells:
    """Go through the XML of all sheets once. Raises CorruptInput unless it is well-formed: its reader would hang."""
    tables = _Tables()
    parser = new_parser()
    parser.StartElementHandler = tables.start
    cells = Cells()
    try:
        for piece in _whole_tags(pieces):
            cells.needs_mending = cells.needs_mending or _SPACED_TAG.search(piece) is not None
            parser.Parse(piece)
        parser.Parse(b"", True)
    except (expat.ExpatError, ValueError) as error:
        raise CorruptInput(
            f"{name} is damaged or not what it seems, save it again and retry: {error}", error_code="DAMAGED"
        ) from error
    cells.laid_out = tables.count()
    return cells


def mend_cells(read: Callable[[], Iterable[bytes]]) -> Iterator[bytes]:
    """The same sheets without white space between cells."""
    return (_SPACE.sub(b"", piece) for piece in _whole_tags(read()))


class _Tables:
    """Counts the cells of the rectangles around what is filled, as the elements go by."""

    def __init__(self) -> None:
        self._cells = self._height = self._width = 0
        self._rows = self._repeats = self._column = self._row_end = 0

    def start(self, element: str, attributes: dict[str, str]) -> None:
        if element in _CELLS:
            self._column += int(attributes.get("table:number-columns-repeated", 1))
            if not _FILLING.isdisjoint(attributes):
                self._row_end = self._column
        elif element == "table:table-row":
            self._end_row()
            self._repeats = int(attributes.get("table:number-rows-repeated", 1))
        elif element == "table:table":
            self.count()

    def count(self) -> int:
        """How many there are up to here; what follows is another table."""
        self._end_row()
        self._cells += self._height * self._width
        self._height = self._width = self._rows = 0
        return self._cells

    def _end_row(self) -> None:
        self._rows += self._repeats
        if self._row_end:
            self._height, self._width = self._rows, max(self._width, self._row_end)
        self._repeats = self._column = self._row_end = 0


def _whole_tags(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The content in pieces that end with a tag."""
    rest = b""
    for piece in pieces:
        whole, end, begun = piece.rpartition(b">")
        yield rest + whole + end
        rest = begun
    yield rest
