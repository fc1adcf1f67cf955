"""A value of a cell is shown as spreadsheet programs show it, on one line."""

from datetime import date, datetime, time, timedelta

import pytest

from holdfast.extract.cell_text import Value, cell_text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", "plain"),
        ("  two\r\nlines\tand a | bar ", "two lines and a \\| bar"),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (31.0, "31"),
        (-0.5, "-0.5"),
        (0.1 + 0.2, "0.3"),
        (1e20, "100000000000000000000"),
        (1234567890123456.0, "1234567890123460"),
        (0.00000012, "0.00000012"),
        (1e300, "1e+300"),
        (date(2026, 3, 1), "2026-03-01"),
        (datetime(2026, 3, 1, 12, 30), "2026-03-01 12:30:00"),
        (datetime(2026, 3, 1, 12, 30, 0, 250_000), "2026-03-01 12:30:00.250"),
        (time(8, 15), "08:15:00"),
        (timedelta(hours=30), "30:00:00"),
        (timedelta(hours=-2), "-02:00:00"),
        ("PT30H05M09S", "30:05:09"),
        ("PTA meeting", "PTA meeting"),
    ],
)
def test_value_is_shown_as_people_read_it(value: Value, shown: str) -> None:
    assert cell_text(value) == shown
