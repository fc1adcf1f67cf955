"""Sheets are read as tables of what they show, and what cannot be read of them is said."""

import struct
from pathlib import Path

import pytest

from holdfast.errors import CorruptInput, EmptyText, EncryptedInput, TooLarge
from holdfast.extract import sheets
from holdfast.extract.reading import Reading, Source
from tests.extract.binary_workbooks import xls, xlsb, xlsb_shared_text, xlsb_sheet
from tests.extract.conftest import Extracting
from tests.extract.extracting import OPEN_DOCUMENT, XLSX
from tests.extract.samples import SHEETS, open_document, relations, xlsx

pytestmark = pytest.mark.asyncio(loop_scope="module")

ODS = f"{OPEN_DOCUMENT}.spreadsheet"
FIRST_SHEET = "xl/worksheets/sheet1.xml"
# Cells of style 1 are dates, of 2 dates with their time, of 3 durations.
STYLES = (
    f'<styleSheet xmlns="{SHEETS}"><numFmts count="1"><numFmt numFmtId="164" formatCode="[h]:mm:ss"/></numFmts>'
    '<cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="164"/></cellXfs>'
    "</styleSheet>"
)


def sheet_of(cells: str) -> str:
    return f'<worksheet xmlns="{SHEETS}"><sheetData><row r="1">{cells}</row></sheetData></worksheet>'


def text_cell(text: str) -> str:
    return f'<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>'


async def test_sheets_are_tables_under_their_names(extracted: Extracting) -> None:
    document = await extracted(xlsx({"Sales": [["who", "sum"], ["Ann", 31]], "Stock": [["item"], ["rope"]]}), XLSX)

    assert document.text == (
        "## Sales\n\n| who | sum |\n| --- | --- |\n| Ann | 31 |\n\n## Stock\n\n| item |\n| --- |\n| rope |\n\n"
    )
    assert document.place("| Ann | 31 |").sheets == ("Sales",)
    assert document.place("rope").sheets == ("Stock",)
    assert document.place("rope").heading == ("Stock",)
    assert document.summary["extractor"] == "calamine"
    assert document.summary["facts"] == {"sheets": 2}


@pytest.mark.thorough
async def test_million_cells_are_read_within_the_memory_of_a_child(extracted: Extracting) -> None:
    rows = [[number] * 20 for number in range(50_000)]
    told: list[float] = []

    document = await extracted(xlsx({"Buoys": rows}), XLSX, on_progress=told.append)

    assert document.text.count("\n| ") == 50_000 + 1
    assert document.place("| 49999 | 49999 |").sheets == ("Buoys",)
    assert told == sorted(told)
    assert len(told) > 20


async def test_values_are_shown_as_people_read_them(extracted: Extracting) -> None:
    cells = (
        '<c r="A1" s="1"><v>46082</v></c><c r="B1" s="2"><v>46082.520833333336</v></c>'
        '<c r="C1" s="1"><v>0.34375</v></c><c r="D1" s="3"><v>1.25</v></c>'
        '<c r="E1" t="b"><v>1</v></c><c r="F1" t="e"><v>#DIV/0!</v></c>'
        '<c r="G1"><v>0.30000000000000004</v></c><c r="H1" t="str"><f>A1</f><v>a|b</v></c>'
    )

    document = await extracted(
        xlsx({"Values": [[1]]}, more={FIRST_SHEET: sheet_of(cells), "xl/styles.xml": STYLES}), XLSX
    )

    shown = "| 2026-03-01 | 2026-03-01 12:30:00 | 08:15:00 | 30:00:00 | true | #DIV/0! | 0.3 | a\\|b |"
    assert shown in document.text
    assert document.warnings == {}


async def test_row_with_an_impossible_time_is_left_out_and_told(extracted: Extracting) -> None:
    rows = '<row r="1"><c r="A1"><v>1</v></c></row><row r="2"><c r="A2" s="3"><v>1e300</v></c></row><row r="3">'
    sheet = f'<worksheet xmlns="{SHEETS}"><sheetData>{rows}<c r="A3"><v>3</v></c></row></sheetData></worksheet>'

    document = await extracted(xlsx({"Times": [[1]]}, more={FIRST_SHEET: sheet, "xl/styles.xml": STYLES}), XLSX)

    assert "| 1 |\n| --- |\n| 3 |" in document.text
    assert "1 rows of the sheet 'Times'" in document.warnings["ROWS_SKIPPED"]


async def test_empty_rows_and_empty_sheets_are_left_out(extracted: Extracting) -> None:
    document = await extracted(xlsx({"Gaps": [["", ""], ["a", "b"], ["", " "], ["c", ""]], "Nothing": []}), XLSX)

    assert document.text == "## Gaps\n\n| a | b |\n| --- | --- |\n| c |  |\n\n"


async def test_title_is_that_of_the_properties(extracted: Extracting) -> None:
    document = await extracted(xlsx({"A": [["x"]]}, title="Fees & dues"), XLSX)

    assert document.summary["title"] == "Fees & dues"


async def test_title_of_an_open_document_is_that_of_its_properties(extracted: Extracting) -> None:
    meta = (
        '<office:document-meta xmlns:office="o" xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta>'
        "<dc:title>Gear of the harbour</dc:title></office:meta></office:document-meta>"
    )
    body = f'<table:table table:name="A"><table:table-row>{text_cell("x")}</table:table-row></table:table>'

    document = await extracted(open_document("spreadsheet", body, more={"meta.xml": meta}), ODS)

    assert document.summary["title"] == "Gear of the harbour"


@pytest.mark.parametrize(
    "properties", ["<dc:title>no such prefix</dc:title>", "", "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>"]
)
async def test_properties_that_cannot_be_read_are_no_harm(extracted: Extracting, properties: str) -> None:
    document = await extracted(xlsx({"Fees": [["x"]]}, more={"docProps/core.xml": properties}), XLSX)

    assert document.summary["title"] == "Fees"


async def test_formulas_that_nobody_calculated_are_told(extracted: Extracting) -> None:
    cells = (
        '<c r="A1"><v>1</v></c><c r="B1"><f>A1*2</f><v></v></c><c r="C1"><f>A1*3</f></c><c r="D1"><f>A1</f><v>1</v></c>'
    )

    document = await extracted(xlsx({"A": [[1]]}, more={FIRST_SHEET: sheet_of(cells)}), XLSX, name="plan.xlsx")

    assert document.warnings == {
        "FORMULAS_NOT_CALCULATED": "2 cells of plan.xlsx hold formulas without a result: "
        "open it in a spreadsheet program, save it and submit it again"
    }


async def test_workbook_of_nothing_but_such_formulas_says_why_it_is_empty(extracted: Extracting) -> None:
    with pytest.raises(EmptyText, match="1 cells of sample hold formulas without a result"):
        await extracted(xlsx({"A": [[1]]}, more={FIRST_SHEET: sheet_of('<c r="A1"><f>B1</f></c>')}), XLSX)


async def test_hidden_sheets_are_read_and_charts_are_no_harm(extracted: Extracting) -> None:
    listed = (
        '<sheet name="Chart" sheetId="1" r:id="rId1"/><sheet name="Secret" sheetId="2" state="hidden" r:id="rId2"/>'
    )
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    more = {
        "xl/workbook.xml": f'<workbook xmlns="{SHEETS}" xmlns:r="{kind}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(
            ("chartsheet", "chartsheets/sheet1.xml"), ("worksheet", "worksheets/sheet1.xml")
        ),
        "xl/chartsheets/sheet1.xml": f'<chartsheet xmlns="{SHEETS}"/>',
    }

    document = await extracted(xlsx({"Secret": [["hidden words"]]}, more=more), XLSX)

    assert document.place("hidden words").sheets == ("Secret",)
    assert (document.warnings, document.summary["facts"]) == ({}, {"sheets": 1})


@pytest.mark.parametrize("broken", [sheet_of('<c r="A1"><v>1'), "<nonsense"], ids=["cut", "no XML"])
async def test_sheet_that_is_broken_is_left_out_and_told(extracted: Extracting, broken: str) -> None:
    document = await extracted(xlsx({"Bad": [[1]], "Good": [["kept"]]}, more={FIRST_SHEET: broken}), XLSX)

    assert "kept" in document.text
    assert "the sheet 'Bad' is missing" in document.warnings["SHEET_SKIPPED"]


async def test_sheet_that_is_not_what_was_packed_is_left_out_and_told(extracted: Extracting) -> None:
    # Its reader has all it wants of such a sheet before it comes to the end, where it would find out.
    rest = f'<mergeCells><mergeCell ref="A1:B1"/></mergeCells><!--{" " * 100_000}--></worksheet>'
    sheet = sheet_of('<c r="A1"><v>666</v></c>').replace("</worksheet>", rest)
    whole = xlsx({"Bad": [[1]], "Good": [["kept"]]}, more={FIRST_SHEET: sheet})
    checksum = whole.rindex(FIRST_SHEET.encode()) - 30

    document = await extracted(whole[:checksum] + struct.pack("<I", 7) + whole[checksum + 4 :], XLSX)

    assert "kept" in document.text
    assert "666" not in document.text
    assert "the sheet 'Bad' is missing" in document.warnings["SHEET_SKIPPED"]


async def test_workbook_whose_only_sheet_is_broken_is_damaged(extracted: Extracting) -> None:
    with pytest.raises(CorruptInput, match="sample is damaged or not what it seems, save it again and retry"):
        await extracted(xlsx({"Bad": [[1]]}, more={FIRST_SHEET: "<nonsense"}), XLSX)


async def test_reader_that_panics_does_so_for_one_sheet(extracted: Extracting) -> None:
    bad = xlsb_sheet([["x"]], more=xlsb_shared_text(1, 99))

    document = await extracted(xlsb({"Bad": bad, "Good": xlsb_sheet([["kept", 4.5]])}), XLSX)

    assert document.place("| kept | 4.5 |").sheets == ("Good",)
    assert "the sheet 'Bad' is missing" in document.warnings["SHEET_SKIPPED"]


async def test_reader_that_panics_over_the_whole_calls_it_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicException(BaseException):
        """As Rust's, which is no Exception."""

    class Panicking:
        @staticmethod
        def from_path(path: Path) -> None:
            raise PanicException("index out of bounds")

    monkeypatch.setattr(sheets, "CalamineWorkbook", Panicking)
    (tmp_path / "input").write_bytes(xlsx({"A": [[1]]}))
    reading = Reading(tmp_path)

    with pytest.raises(CorruptInput, match="index out of bounds"):
        sheets.read_sheets(Source(tmp_path / "input", "a.xlsx", XLSX, tmp_path), reading, lambda fraction: None)
    reading.abandon()


async def test_old_workbook_is_read(extracted: Extracting) -> None:
    document = await extracted(xls("Piers", [["pier", "depth"], ["north", 4.5]]), "application/vnd.ms-excel")

    assert "| pier | depth |\n| --- | --- |\n| north | 4.5 |" in document.text
    assert document.place("north").sheets == ("Piers",)


async def test_binary_workbook_is_read_also_where_it_passes_for_the_other_kind(extracted: Extracting) -> None:
    document = await extracted(xlsb({"Piers": xlsb_sheet([["pier", "depth"], ["north", 4.5]])}), XLSX)

    assert "| pier | depth |\n| --- | --- |\n| north | 4.5 |" in document.text


async def test_sheet_too_wide_to_lay_out_is_too_large(extracted: Extracting) -> None:
    sheet = xlsb_sheet([["x"], *[[]] * 699, ["y"] * 16_000])

    with pytest.raises(TooLarge, match="701 rows and 16,000 columns"):
        await extracted(xlsb({"Wide": sheet}), XLSX)


@pytest.mark.parametrize("space", ["", "\n  "], ids=["in one line", "indented"])
async def test_open_document_sheets_are_tables_under_their_names(extracted: Extracting, space: str) -> None:
    row = f"<table:table-row>{space}{text_cell('anchor')}{space}{text_cell('iron, or  steel')}{space}</table:table-row>"
    body = f'<table:table table:name="Gear">{space}{row}{space}</table:table>'

    document = await extracted(open_document("spreadsheet", body), ODS)

    assert document.place("| anchor | iron, or steel |").sheets == ("Gear",)


async def test_repeated_cells_of_an_open_document_are_read(extracted: Extracting) -> None:
    cell = '<table:table-cell table:number-columns-repeated="2" office:value-type="float" office:value="7"/>'
    rest = '<table:table-cell table:number-columns-repeated="16000"/>'
    rows = (
        f'<table:table-row table:number-rows-repeated="2">{cell}{rest}</table:table-row>'
        f'<table:table-row table:number-rows-repeated="1048000">{rest}</table:table-row>'
    )

    document = await extracted(open_document("spreadsheet", f'<table:table table:name="A">{rows}</table:table>'), ODS)

    assert document.text == "## A\n\n| 7 | 7 |\n| --- | --- |\n| 7 | 7 |\n\n"


async def test_open_document_that_repeats_too_much_is_too_large(extracted: Extracting) -> None:
    cell = '<table:table-cell table:number-columns-repeated="3000" office:value-type="float" office:value="7"/>'
    row = f'<table:table-row table:number-rows-repeated="3000">{cell}</table:table-row>'

    with pytest.raises(TooLarge, match="9,000,000 cells"):
        await extracted(open_document("spreadsheet", f'<table:table table:name="A">{row}</table:table>'), ODS)


async def test_workbook_with_a_password_says_so(extracted: Extracting) -> None:
    container = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + "EncryptedPackage".encode("utf-16-le") + bytes(2000)

    with pytest.raises(EncryptedInput, match=r"plan\.xlsx needs a password"):
        await extracted(container, XLSX, name="plan.xlsx")


async def test_open_document_with_a_password_says_so(extracted: Extracting) -> None:
    manifest = (
        '<manifest:manifest><manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/>'
        "</manifest:file-entry></manifest:manifest>"
    )
    more = {"META-INF/manifest.xml": manifest, "content.xml": b"\x8f\x02 noise"}

    with pytest.raises(EncryptedInput, match=r"plan\.ods needs a password"):
        await extracted(open_document("spreadsheet", "", more=more), ODS, name="plan.ods")
