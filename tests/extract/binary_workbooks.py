"""Workbooks of the two binary formats, XLS and XLSB, written record by record."""

import struct
from collections.abc import Mapping, Sequence

from tests.extract.compound_files import compound_file
from tests.extract.samples import relations, zipped

Rows = Sequence[Sequence[str | float]]


def xls(name: str, rows: Rows) -> bytes:
    """A workbook as Excel wrote it until 2003, with one sheet."""
    begin = _xls_record(0x0809, struct.pack("<4H2I", 0x0600, 5, 0, 0, 0, 0))
    bound = struct.pack("<IH", 0, 0) + struct.pack("<BB", len(name), 0) + name.encode("latin-1")
    end = _xls_record(0x000A, b"")
    position = len(begin) + len(_xls_record(0x0085, bound)) + len(end)
    bound = struct.pack("<I", position) + bound[4:]
    cells = b"".join(_xls_cell(r, c, value) for r, row in enumerate(rows) for c, value in enumerate(row))
    sheet = _xls_record(0x0809, struct.pack("<4H2I", 0x0600, 0x10, 0, 0, 0, 0)) + cells + end
    return compound_file("Workbook", begin + _xls_record(0x0085, bound) + end + sheet)


def xlsb(sheets: Mapping[str, bytes]) -> bytes:
    """A binary workbook of these sheets."""
    names = [f"worksheets/sheet{n}.bin" for n in range(1, len(sheets) + 1)]
    listed = b"".join(
        _xlsb_record(0x9C, struct.pack("<2I", 0, n) + _wide(f"rId{n}") + _wide(name))
        for n, name in enumerate(sheets, 1)
    )
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relations(("officeDocument", "xl/workbook.bin")),
            "xl/workbook.bin": listed + _xlsb_record(0x90, b"") + _xlsb_record(0x84, b""),
            "xl/_rels/workbook.bin.rels": relations(*(("worksheet", name) for name in names)),
            **{f"xl/{name}": sheet for name, sheet in zip(names, sheets.values(), strict=True)},
        }
    )


def xlsb_sheet(rows: Rows, *, more: bytes = b"") -> bytes:
    """A sheet of these rows, and of more records behind them."""
    cells = b"".join(
        _xlsb_record(0, struct.pack("<I", r)) + b"".join(_xlsb_cell(c, value) for c, value in enumerate(row))
        for r, row in enumerate(rows)
    )
    return _xlsb_record(0x94, bytes(16)) + _xlsb_record(0x91, b"") + cells + more + _xlsb_record(0x92, b"")


def xlsb_shared_text(column: int, number: int) -> bytes:
    """A cell that refers to a text in the workbook's list of them."""
    return _xlsb_record(7, struct.pack("<3I", column, 0, number))


def _xls_record(kind: int, body: bytes) -> bytes:
    return struct.pack("<2H", kind, len(body)) + body


def _xls_cell(row: int, column: int, value: str | float) -> bytes:
    place = struct.pack("<3H", row, column, 0)
    if isinstance(value, str):
        return _xls_record(0x0204, place + struct.pack("<HB", len(value), 0) + value.encode("latin-1"))
    return _xls_record(0x0203, place + struct.pack("<d", value))


def _xlsb_record(kind: int, body: bytes) -> bytes:
    return _varying(kind) + _varying(len(body)) + body


def _xlsb_cell(column: int, value: str | float) -> bytes:
    place = struct.pack("<2I", column, 0)
    if isinstance(value, str):
        return _xlsb_record(6, place + _wide(value))
    return _xlsb_record(5, place + struct.pack("<d", value))


def _varying(number: int) -> bytes:
    """A number in as many bytes as it needs, seven bits each."""
    written = bytearray()
    while number >= 0x80:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")
