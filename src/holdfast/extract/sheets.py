"""Reads what spreadsheet programs write: every sheet as a table under its name."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, PasswordError, SheetTypeEnum

from holdfast.errors import CorruptInput, EmptyText, TooLarge
from holdfast.extract.cell_text import cell_text
from holdfast.extract.encryption import needs_password, refuse_encrypted
from holdfast.extract.readers.writing import write_all
from holdfast.extract.reading import Progress, Reading, Source
from holdfast.extract.workbooks import MOST_CELLS, Workbook, prepare

_WITH_CELLS = (SheetTypeEnum.WorkSheet, SheetTypeEnum.MacroSheet)
_ROWS_PER_PROGRESS = 1_000
_MESSAGE_CHARACTERS = 300


class _Damaged(Exception):
    """The reader gave up, on the workbook or on one sheet."""


def read_sheets(source: Source, reading: Reading, progress: Progress) -> None:
    """Write every sheet as a table, hidden ones too, without its empty rows.

    A sheet that cannot be read is left out with a warning; charts have no cells and are left out without.
    """
    refuse_encrypted(source)
    workbook = prepare(source)
    reading.extractor = "calamine"
    reading.title = workbook.title
    try:
        _write_sheets(workbook, source.name, reading, progress)
    except _Damaged as error:
        raise CorruptInput(
            f"{source.name} is damaged or not what it seems, save it again and retry: {error}", error_code="DAMAGED"
        ) from error
    _tell_uncalculated(workbook, source.name, reading)


def _write_sheets(workbook: Workbook, name: str, reading: Reading, progress: Progress) -> None:
    with _telling_damage(name), CalamineWorkbook.from_path(workbook.path) as opened:
        sheets = [sheet.name for sheet in opened.sheets_metadata if sheet.typ in _WITH_CELLS]
        reading.facts["sheets"] = len(sheets)
        damage = None
        for number, sheet in enumerate(sheets):
            try:
                _write_sheet(opened, sheet, reading, _share(progress, number, len(sheets)))
            except _Damaged as error:
                damage = error
                reading.warn("SHEET_SKIPPED", f"the sheet {sheet!r} is missing, it cannot be read: {error}")
        if damage and reading.is_blank:
            raise damage


def _write_sheet(workbook: CalamineWorkbook, name: str, reading: Reading, progress: Progress) -> None:
    with _telling_damage(name):
        sheet = workbook.get_sheet_by_name(name)
    rows = _rows(sheet, reading, progress)
    head = next(rows, None)
    if head is not None:
        with reading.span("sheet", name):
            reading.write(f"## {' '.join(name.split())}\n\n")
            write_all(map(_line, chain([head, ["---"] * len(head)], rows)), reading)
            reading.write("\n")


def _rows(sheet: CalamineSheet, reading: Reading, progress: Progress) -> Iterator[list[str]]:
    """The rows that hold anything, as texts."""
    height = _checked_height(sheet)
    rows = sheet.iter_rows() if height else iter(())
    unreadable = 0
    for number in range(height):
        try:
            with _telling_damage(sheet.name):
                row = next(rows)
        except OverflowError:
            unreadable += 1
            continue
        texts = [cell_text(value) for value in row]
        if any(texts):
            yield texts
        if number % _ROWS_PER_PROGRESS == 0:
            progress(number / height)
    if unreadable:
        reading.warn(
            "ROWS_SKIPPED", f"{unreadable:,} rows of the sheet {sheet.name!r} are missing: a time in them is none"
        )


def _checked_height(sheet: CalamineSheet) -> int:
    """How many rows will be handed out, the empty ones before the first included."""
    height = sheet.end[0] + 1 if sheet.end else 0
    if height * sheet.width > MOST_CELLS:
        raise TooLarge(
            f"the sheet {sheet.name!r} has {height:,} rows and {sheet.width:,} columns, empty ones included; "
            f"{MOST_CELLS:,} cells can be laid out: split the sheet, or bring its cells together",
            error_code="SHEET_LIMIT",
        )
    return height


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _share(progress: Progress, number: int, count: int) -> Progress:
    return lambda fraction: progress((number + fraction) / count)


def _tell_uncalculated(workbook: Workbook, name: str, reading: Reading) -> None:
    if not workbook.uncalculated:
        return
    message = (
        f"{workbook.uncalculated:,} cells of {name} hold formulas without a result: "
        "open it in a spreadsheet program, save it and submit it again"
    )
    if reading.is_blank:
        raise EmptyText(message, error_code="FORMULAS_NOT_CALCULATED")
    reading.warn("FORMULAS_NOT_CALCULATED", message)


@contextmanager
def _telling_damage(name: str) -> Iterator[None]:
    """Turn what the reader raises about the file, a panic too, into `_Damaged`, or EncryptedInput for a password."""
    try:
        yield
    except PasswordError as error:
        raise needs_password(name) from error
    except (CalamineError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the disk, not of the reader, which calls a file that ends too early by this name
        raise _Damaged(str(error)[:_MESSAGE_CHARACTERS]) from error
    except BaseException as error:
        # Rust's own kind of exception, which cannot be imported and is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise _Damaged(f"the reader broke: {str(error)[:_MESSAGE_CHARACTERS]}") from error
