"""Values of cells as people read them."""

import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TypeAlias

Value: TypeAlias = int | float | str | bool | time | date | datetime | timedelta

# Beyond, zeros would say nothing.
_MOST_DIGITS = 30
# As OpenDocument writes more hours than a day has.
_DURATION = re.compile(r"(-?)PT(\d+)H(\d+)M(\d+)(?:[.,]\d*)?S")


def cell_text(value: Value) -> str:
    """The value as one line that can stand in a Markdown table."""
    if isinstance(value, str):
        return _words(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(" ", "milliseconds" if value.microsecond else "seconds")
    if isinstance(value, time):
        return value.isoformat("milliseconds" if value.microsecond else "seconds")
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(abs(value).total_seconds()), 60)
        return _duration("-" if value < timedelta(0) else "", *divmod(minutes, 60), seconds)
    return str(value)


def _words(text: str) -> str:
    if text.startswith(("PT", "-PT")) and (found := _DURATION.fullmatch(text)):
        return _duration(found[1], *map(int, found.groups()[1:]))
    return " ".join(text.split()).replace("|", "\\|")


def _number(value: float) -> str:
    """With the 15 digits that spreadsheet programs keep, and all of them written out."""
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    text = f"{value:.15g}"
    if "e" in text and abs(Decimal(text).adjusted()) <= _MOST_DIGITS:
        return f"{Decimal(text):f}"
    return text


def _duration(sign: str, hours: int, minutes: int, seconds: int) -> str:
    return f"{sign}{hours:02}:{minutes:02}:{seconds:02}"
