"""Cells of an XLSX sheet are counted and mended alike, wherever the pieces of its XML are cut."""

import pytest

from holdfast.extract.xlsx_cells import look_at_cells, mend_cells

FORMULA = "<f>SUM(A1:A9)</f>"


def sheet(cells: str) -> bytes:
    return f'<worksheet><sheetData><row r="1">{cells}</row></sheetData></worksheet>'.encode()


@pytest.mark.parametrize(
    ("cell", "uncalculated"),
    [
        (f'<c r="A1">{FORMULA}</c>', 1),
        (f'<c r="A1">{FORMULA}<v></v></c>', 1),
        (f'<c r="A1">{FORMULA}<v/></c>', 1),
        (f'<c r="A1" t="str">{FORMULA}</c>', 1),
        ('<c r="A1"><f t="shared" si="0"/><v /></c>', 1),
        ("<x:c r='A1'> <x:f>A2</x:f> <x:v></x:v> </x:c>", 1),
        (f'<c r="A1">{FORMULA}<v>0</v></c>', 0),
        (f'<c r="A1" t="str">{FORMULA}<v></v></c>', 0),
        (f'<c r="A1" t="str">{FORMULA}<v/></c>', 0),
        ('<c r="A1"><v></v></c>', 0),
    ],
)
def test_formula_without_a_result_is_counted(cell: str, uncalculated: int) -> None:
    assert look_at_cells([sheet(cell)]).uncalculated == uncalculated


@pytest.mark.parametrize("prefix", ["", "x:"])
def test_cells_are_counted_alike_wherever_they_are_cut(prefix: str) -> None:
    error = f'<{prefix}c r="B1" t="e"><{prefix}v>#N/A</{prefix}v></{prefix}c>'
    content = sheet(f'<{prefix}c r="A1"><{prefix}f>A2</{prefix}f></{prefix}c>{error}<{prefix}c r="C1" s="1"/>')
    whole = look_at_cells([content])

    for cut in range(len(content)):
        cells = look_at_cells([content[:cut], content[cut:]])
        mended = b"".join(mend_cells(lambda cut=cut: [content[:cut], content[cut:]]))

        assert cells == whole
        assert mended == content.replace(b't="e"', b't="str"')
    assert (whole.filled, whole.placeless, whole.uncalculated, whole.has_errors) == (2, 0, 1, True)


def test_cells_without_a_place_are_counted() -> None:
    cells = look_at_cells([b"<row><c><v>1</v></c><c t='s'><v>2</v></c></row>"])

    assert (cells.filled, cells.placeless, cells.laid_out) == (2, 2, 2)


def test_content_without_cells_is_passed_on_whole() -> None:
    pieces = [b"<sheetData>", *[b" " * (1 << 20)] * 20, b"</sheetData>"]

    assert b"".join(mend_cells(lambda: pieces)) == b"".join(pieces)
