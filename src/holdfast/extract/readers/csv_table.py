"""Tables as text, CSV and TSV: each row becomes a line that names its columns."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from holdfast.errors import CorruptInput, TooLarge
from holdfast.extract.readers.decoding import decode, lines
from holdfast.extract.readers.writing import write_all
from holdfast.extract.reading import Progress, Reading, Source

_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 200
_SAMPLE_CHARACTERS = 1 << 20
_MOST_LINE_CHARACTERS = 16 << 20
# More line ends than this inside one cell: a quotation mark was opened and not closed.
_MOST_CELL_LINES = 1_000
_NUMBER = re.compile(r"[-+]?[\d.,\s%$\u20ac\u00a3]+$")

Row = list[str]


def read_csv(source: Source, reading: Reading, progress: Progress) -> None:
    """Write a line `Column: value; Column: value` for each row, empty cells left out, so that no row needs another.

    Rows that have more or fewer cells than the head are kept, and counted in a warning.
    """
    reading.extractor = "csv"
    reading.has_headings = False
    written = _whole_lines(lines(decode(source, reading, progress), most_characters=_MOST_LINE_CHARACTERS))
    sample = _take_sample(written)
    delimiter = "\t" if source.media_type == "text/tab-separated-values" else _sniff_delimiter(sample)
    rows = _rows(chain(sample, written), delimiter, reading)
    first = next(rows, None)
    if first is None:
        return
    is_head = _is_head(first)
    columns = [" ".join(name.split()) for name in first] if is_head else []
    if is_head:
        reading.write(f"Columns: {', '.join(filter(None, columns))}\n\n")
    write_all(_lines(rows if is_head else chain([first], rows), columns, reading), reading)


def _whole_lines(written: Iterable[str]) -> Iterator[str]:
    for line in written:
        if len(line) >= _MOST_LINE_CHARACTERS:
            raise TooLarge(
                f"a line has more than {_MOST_LINE_CHARACTERS:,} characters: is this a table?", error_code="LINE_LIMIT"
            )
        yield line


def _take_sample(written: Iterator[str]) -> list[str]:
    sample, size = [], 0
    for line in written:
        sample.append(line)
        size += len(line)
        if len(sample) == _SAMPLE_LINES or size > _SAMPLE_CHARACTERS:
            break
    return sample


def _sniff_delimiter(sample: list[str]) -> str:
    """Return the delimiter that cuts the most lines into one and the same number of cells."""

    def agreement(delimiter: str) -> tuple[int, int]:
        widths = Counter(len(row) for row in csv.reader(sample, delimiter=delimiter) if len(row) > 1)
        return max(((rows, width) for width, rows in widths.items()), default=(0, 0))

    csv.field_size_limit(_MOST_LINE_CHARACTERS)
    return max(_DELIMITERS, key=agreement)


def _rows(written: Iterable[str], delimiter: str, reading: Reading) -> Iterator[Row]:
    csv.field_size_limit(_MOST_LINE_CHARACTERS)
    quotes = 0

    def counted() -> Iterator[str]:
        nonlocal quotes
        for line in written:
            quotes += line.count('"')
            yield line

    reader = csv.reader(counted(), delimiter=delimiter, skipinitialspace=True)
    is_open = False
    try:
        for row in reader:
            # It takes no line more than a row has.
            is_open, quotes = quotes % 2 == 1, 0
            if any(cell.strip() for cell in row):
                yield row
    except csv.Error as error:
        raise CorruptInput(
            f"the table cannot be read beyond line {reader.line_num:,} ({error}): "
            "is a quotation mark opened there and never closed?",
            error_code="TABLE_BROKEN",
        ) from error
    if is_open:
        reading.warn("CUT_OFF", "the table ends within quotation marks: what came after is missing, get it again")


def _is_head(row: Row) -> bool:
    """Whether a first row names columns: filled, all different, no numbers."""
    names = [cell.strip() for cell in row if cell.strip()]
    is_filled = len(names) * 2 > len(row)
    return is_filled and len(set(names)) == len(names) and not any(map(_NUMBER.match, names))


def _lines(rows: Iterable[Row], columns: list[str], reading: Reading) -> Iterator[str]:
    ragged, first_ragged, swallowing, count = 0, 0, 0, 0
    width = len(columns)
    for row in rows:
        count, width = count + 1, width or len(row)
        if len(row) != width:
            ragged, first_ragged = ragged + 1, first_ragged or count
        swallowing += any(len(cell) > _MOST_CELL_LINES and cell.count("\n") > _MOST_CELL_LINES for cell in row)
        yield _line(row, columns)
    if ragged:
        reading.warn(
            "RAGGED_ROWS", f"{ragged:,} of {count:,} rows do not have {width} cells; the first is row {first_ragged:,}"
        )
    if swallowing:
        reading.warn(
            "QUOTE_NOT_CLOSED", f"{swallowing:,} cells hold over {_MOST_CELL_LINES:,} lines: is a quote not closed?"
        )


def _line(row: Row, columns: list[str]) -> str:
    cells = []
    for position, cell in enumerate(row):
        value = " ".join(cell.split())
        if value:
            name = columns[position] if position < len(columns) else ""
            cells.append(f"{name}: {value}" if name else value)
    return "; ".join(cells) + "\n"
