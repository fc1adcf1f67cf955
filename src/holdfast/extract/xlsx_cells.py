"""Looks at the cells of an XLSX sheet, and mends what its reader would choke on or keep quiet about."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

# Less than this is laid out in no time; more is worth a second look.
_ORDINARY_CELLS = 200_000
_MOST_ROWS, _MOST_COLUMNS = 1_048_576, 16_384
# No cell is longer; what is, may be cut.
_MOST_CELL_BYTES = 16 << 20

_CELL = re.compile(rb"""(<(?:\w+:)?c\b[^<>]*?\sr=["'])([A-Z]{1,3})(\d{1,7})(["'][^<>]*>)""")
_FILLED_CELL = re.compile(rb"""<(?:\w+:)?c\b[^<>]*?\sr=["']([A-Z]{1,3})(\d{1,7})["'][^<>]*(?<!/)>""")
_ERROR_CELL = re.compile(rb"""(<(?:\w+:)?c\b[^<>]*?\st=)(?:"e"|'e')""")
_ROW = re.compile(rb"""(<(?:\w+:)?row\b[^<>]*?\sr=["'])(\d{1,7})(?=["'])""")
# A formula is followed by its result. An empty one is a result only where the cell says that it is text.
_UNCALCULATED_CELL = re.compile(
    rb"""
    <(?:\w+:)?c\b (?:(?=[^<>]*\st=["']str["'])(?P<is_text>))?+ [^<>]*> \s*+
    <(?:\w+:)?f\b (?:[^<>]*/> | [^<>]*>[^<]*</(?:\w+:)?f\s*>) \s*+
    (?(is_text)| (?:<(?:\w+:)?v\b [^<>]* (?:/> | (?<!/)>\s*+</(?:\w+:)?v\s*>))?+ \s*+)
    </(?:\w+:)?c\s*>
    """,
    re.VERBOSE,
)


@dataclass(slots=True)
class Cells:
    """Which rows and columns of a sheet hold anything, and what of it needs mending or a warning."""

    rows: bytearray = field(default_factory=lambda: bytearray(_MOST_ROWS + 1))
    columns: bytearray = field(default_factory=lambda: bytearray(_MOST_COLUMNS + 1))
    filled: int = 0
    # Those that do not say where they stand: right behind the one before.
    placeless: int = 0
    uncalculated: int = 0
    has_errors: bool = False

    @property
    def used_rows(self) -> int:
        """How many rows hold anything."""
        return self.rows.count(1)

    @property
    def used_columns(self) -> int:
        """How many columns hold anything."""
        return self.columns.count(1)

    @property
    def is_spread(self) -> bool:
        """Whether there is much emptiness between the cells that moving them together takes away."""
        return not self.placeless and self._as_it_is > max(_ORDINARY_CELLS, 2 * self._moved_together)

    @property
    def laid_out(self) -> int:
        """How many cells its reader lays out, those between the filled ones included, once it is mended."""
        return self._moved_together if self.is_spread else max(self._as_it_is, self.filled)

    @property
    def needs_mending(self) -> bool:
        """Whether its reader should be given another sheet than this."""
        return self.is_spread or self.has_errors

    @property
    def _as_it_is(self) -> int:
        # Its reader hands out the empty rows before the first one too.
        return self.rows.rfind(1) * (self.columns.rfind(1) - self.columns.find(1) + 1)

    @property
    def _moved_together(self) -> int:
        return self.used_rows * self.used_columns


def look_at_cells(pieces: Iterable[bytes]) -> Cells:
    """Go through the XML of a sheet once."""
    cells = Cells()
    for piece in _whole_cells(pieces):
        placed = _FILLED_CELL.findall(piece)
        filled = max(piece.count(b"</c>") + piece.count(b":c>"), len(placed))
        cells.filled += filled
        cells.placeless += filled - len(placed)
        for letters in {letters for letters, _ in placed}:
            cells.columns[min(_column(letters), _MOST_COLUMNS)] = 1
        for row in {row for _, row in placed}:
            cells.rows[min(int(row), _MOST_ROWS)] = 1
        if b"<f" in piece or b":f" in piece:
            cells.uncalculated += sum(1 for _ in _UNCALCULATED_CELL.finditer(piece))
        if b'"e"' in piece or b"'e'" in piece:
            cells.has_errors = cells.has_errors or _ERROR_CELL.search(piece) is not None
    return cells


def mend_cells(read: Callable[[], Iterable[bytes]]) -> Iterator[bytes]:
    """The same sheet with its errors as text; if it is spread, without its empty rows and columns.

    It is read twice, for what was learnt of it is a megabyte, and a workbook may have thousands of sheets.
    """
    cells = look_at_cells(read())
    move = _mover(cells) if cells.is_spread else None
    for piece in _whole_cells(read()):
        mended = _ERROR_CELL.sub(rb'\1"str"', piece)
        yield move(mended) if move else mended


def _mover(cells: Cells) -> Callable[[bytes], bytes]:
    rows, columns = list(accumulate(cells.rows)), list(accumulate(cells.columns))

    def move_cell(found: re.Match[bytes]) -> bytes:
        if found[4].endswith(b"/>"):
            return b""  # it has a look and no content
        column, row = columns[min(_column(found[2]), _MOST_COLUMNS)], rows[min(int(found[3]), _MOST_ROWS)]
        return b"%b%b%d%b" % (found[1], _letters(column), row, found[4])

    def move_row(found: re.Match[bytes]) -> bytes:
        # A row without cells takes the number of the one before it, and adds nothing to it.
        return b"%b%d" % (found[1], max(1, rows[min(int(found[2]), _MOST_ROWS)]))

    return lambda piece: _ROW.sub(move_row, _CELL.sub(move_cell, piece))


def _whole_cells(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The content in pieces that cut no cell in two."""
    rest = b""
    for piece in pieces:
        data = rest + piece
        cut = _last_cell(data)
        if cut == 0 and len(data) > _MOST_CELL_BYTES:
            cut = data.rfind(b"<") or len(data)
        yield data[:cut]
        rest = data[cut:]
    yield rest


def _last_cell(data: bytes) -> int:
    """Where the last cell begins, also one whose tag has a prefix; 0 if none is found."""
    plain, prefixed = data.rfind(b"<c "), data.rfind(b":c ")
    return max(plain, data.rfind(b"<", 0, prefixed) if prefixed > plain else 0, 0)


@lru_cache(maxsize=_MOST_COLUMNS)
def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


@lru_cache(maxsize=_MOST_COLUMNS)
def _letters(column: int) -> bytes:
    letters = b""
    while column:
        column, letter = divmod(column - 1, 26)
        letters = bytes([65 + letter]) + letters
    return letters
