"""Looks through a workbook before its reader does, and mends what would break it or be kept quiet."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.errors import CorruptInput, TooLarge, UnsafeArchive
from holdfast.extract import ods_cells, xlsx_cells
from holdfast.extract.encryption import needs_password
from holdfast.extract.reading import Source
from holdfast.extract.workbook_parts import ALL_SHEETS, Mend, WorkbookParts, is_sheet

# Measured: ten million cells with a short text each take the reader 1,340 of the 1,536 MB that a child has.
MOST_CELLS = 10_000_000
# There is memory for more of a sheet that is mostly empty, but its text would be nothing but empty cells.
_MOST_EMPTY_CELLS, _MOST_EMPTY_SHARE = 1_000_000, 10
# Of an OpenDocument it holds all sheets at once, and their formulas.
_MOST_OPEN_DOCUMENT_CELLS = 5_000_000

_ENCRYPTION = b"<manifest:encryption-data"
_TEXTS = re.compile(rb"""<(?:\w+:)?sst\b[^<>]*\suniqueCount=["'](\d+)["']""")


@dataclass(slots=True)
class Workbook:
    """The file as its reader should be given it, with the ending by which that tells what it is."""

    path: Path
    title: str | None = None
    uncalculated: int = 0


@dataclass(slots=True)
class _Findings:
    name: str
    uncalculated: int = 0
    mends: dict[str, Mend | None] = field(default_factory=dict)


def prepare(source: Source) -> Workbook:
    """Find out what can be known without the reader.

    Raises UnsafeArchive for a bomb, TooLarge for more than there is memory for, and CorruptInput for damage that
    concerns all sheets. One sheet that is damaged is left out.
    """
    with source.path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            return Workbook(_linked(source.path, _with_ending(source.path, "xls")))
        parts = WorkbookParts(file, source.name)
        findings = _Findings(source.name)
        for part in parts.names:
            _look(parts, part, findings)
        path = _with_ending(source.path, parts.kind)
        if findings.mends:
            parts.write(path, findings.mends)
        else:
            _linked(source.path, path)
        return Workbook(path, parts.find_title(), findings.uncalculated)


def _look(parts: WorkbookParts, part: str, findings: _Findings) -> None:
    pieces = parts.read(part)
    try:
        if part == ALL_SHEETS:
            _look_at_tables(pieces, part, findings)
        elif is_sheet(part) and part.lower().endswith(".xml"):
            _look_at_sheet(pieces, part, findings)
        else:
            _look_at_frame(pieces, findings)
    except CorruptInput:
        if not is_sheet(part):
            raise
        findings.mends[part] = None


def _look_at_sheet(pieces: Iterator[bytes], part: str, findings: _Findings) -> None:
    cells = xlsx_cells.look_at_cells(pieces)
    if cells.laid_out > min(MOST_CELLS, max(_MOST_EMPTY_CELLS, _MOST_EMPTY_SHARE * cells.filled)):
        raise TooLarge(
            f"{findings.name} has a sheet with {cells.filled:,} cells over {cells.used_rows:,} rows and "
            f"{cells.used_columns:,} columns, which is too much to lay out with the empty ones between them: "
            "split the sheet, or bring its cells together",
            error_code="SHEET_LIMIT",
        )
    findings.uncalculated += cells.uncalculated
    if cells.needs_mending:
        findings.mends[part] = xlsx_cells.mend_cells


def _look_at_tables(pieces: Iterator[bytes], part: str, findings: _Findings) -> None:
    cells = ods_cells.look_at_cells(pieces, findings.name)
    if cells.laid_out > _MOST_OPEN_DOCUMENT_CELLS:
        raise TooLarge(
            f"{findings.name} has {cells.laid_out:,} cells in its sheets, the empty ones between others and repeated "
            f"ones included; {_MOST_OPEN_DOCUMENT_CELLS:,} can be laid out: split it, or save it as .xlsx",
            error_code="SHEET_LIMIT",
        )
    if cells.needs_mending:
        findings.mends[part] = ods_cells.mend_cells


def _look_at_frame(pieces: Iterator[bytes], findings: _Findings) -> None:
    """Read it to the end, by which it proves to be whole."""
    texts, size = 0, 0
    for piece in pieces:
        if _ENCRYPTION in piece:
            raise needs_password(findings.name)
        if not size and (claimed := _TEXTS.search(piece)):
            texts = int(claimed[1])
        size += len(piece)
    if texts > size:
        raise UnsafeArchive(
            f"{findings.name} claims to hold {texts:,} texts in {size:,} bytes: it is made to exhaust its reader",
            error_code="BOMB",
        )


def _with_ending(path: Path, kind: str) -> Path:
    return path.with_name(f"{path.name}.{kind}")


def _linked(path: Path, named: Path) -> Path:
    named.unlink(missing_ok=True)
    os.link(path, named)
    return named
