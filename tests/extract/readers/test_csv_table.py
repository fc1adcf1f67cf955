"""Every row of a table names its columns, so that a passage of it can be understood alone."""

import pytest

from holdfast.errors import TooLarge
from tests.extract.conftest import Extracting
from tests.extract.readers.measured import measure_extraction

pytestmark = pytest.mark.asyncio(loop_scope="module")

CSV, TSV = "text/csv", "text/tab-separated-values"


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b'Name,Role,Pay\nAda,"Chief, bridges",100\nBen,,90\n', CSV),
        ("Name;Role;Pay\r\nAda;Chief, bridges;100\r\nBen;;90\r\n".encode("utf-16"), CSV),
        (b"Name|Role|Pay\nAda|Chief, bridges|100\nBen||90\n", CSV),
        (b"Name\tRole\tPay\nAda\tChief, bridges\t100\nBen\t\t90\n", TSV),
    ],
    ids=["comma", "semicolon in UTF-16", "bar", "tab"],
)
async def test_rows_name_their_columns(extracted: Extracting, data: bytes, media_type: str) -> None:
    document = await extracted(data, media_type)

    assert document.text == (
        "Columns: Name, Role, Pay\n\nName: Ada; Role: Chief, bridges; Pay: 100\nName: Ben; Pay: 90\n"
    )
    assert document.summary["warnings"] == []


async def test_table_without_head_keeps_its_first_row(extracted: Extracting) -> None:
    assert (await extracted(b"1,red\n2,green\n", CSV)).text == "1; red\n2; green\n"


async def test_cells_of_several_lines_stay_in_their_row(extracted: Extracting) -> None:
    document = await extracted(b'Who,Note\nAda,"one\ntwo\n\nthree"\n', CSV)

    assert "Who: Ada; Note: one two three\n" in document.text


async def test_ragged_rows_are_kept_and_counted(extracted: Extracting) -> None:
    document = await extracted(b"a,b\n1,2\n3,4,5\n6\n", CSV)

    assert "a: 3; b: 4; 5\na: 6\n" in document.text
    assert document.warnings["RAGGED_ROWS"].startswith("2 of 3 rows")
    assert "row 2" in document.warnings["RAGGED_ROWS"]


async def test_quote_that_is_never_closed_is_told(extracted: Extracting) -> None:
    document = await extracted(b'a,b\n1,"open\n' + b"2,x\n" * 2_000, CSV)

    assert "QUOTE_NOT_CLOSED" in document.warnings


async def test_endless_line_is_no_table(extracted: Extracting) -> None:
    with pytest.raises(TooLarge, match="is this a table"):
        await extracted(b"a,b\n" + b"x" * 17_000_000, CSV)


async def test_memory_does_not_grow_with_the_table() -> None:
    data = b"Name,Role,Pay\n" + b"Ada,Engineer of long and winding bridges,100\n" * 200_000

    summary = await measure_extraction(data, CSV)

    assert summary["characters"] > len(data)
    assert summary["growth_mb"] < 25
