"""How values read to people: times, durations, money and names."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from holdfast.engine import cost

NOTHING = "-"
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def duration(seconds: float | timedelta | Decimal | None) -> str:
    """Two units at most: `2 h 5 min`, `12 s`, `0.8 s`, `35 ms`."""
    if seconds is None:
        return NOTHING
    total = seconds.total_seconds() if isinstance(seconds, timedelta) else float(seconds)
    if total < 1:
        return f"{total * 1000:.0f} ms"
    if total < 10:
        return f"{total:.1f} s"
    whole = round(total)
    parts: list[tuple[int, str]] = []
    for size, unit in _UNITS:
        count, whole = divmod(whole, size)
        if count or parts:
            parts.append((count, unit))
    return " ".join(f"{count} {unit}" for count, unit in parts[:2] if count)


def moment(at: datetime | None) -> str:
    """The exact time, always in UTC."""
    if at is None:
        return NOTHING
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def ago(at: datetime | None) -> str:
    """How far away a moment is: `5 min ago`, `in 2 h`."""
    if at is None:
        return NOTHING
    seconds = (datetime.now(UTC) - at).total_seconds()
    if abs(seconds) < 1:
        return "now"
    distance = _coarse(abs(seconds))
    return f"{distance} ago" if seconds > 0 else f"in {distance}"


def when(at: datetime | None) -> str:
    """Both: `5 min ago (2026-11-15 20:31:07Z)`."""
    return NOTHING if at is None else f"{ago(at)} ({moment(at)})"


def money(usd: Decimal | float | None) -> str:
    """Dollars with as many places as small amounts need."""
    return NOTHING if usd is None else cost.money(usd)


def share(part: float | Decimal | None) -> str:
    """A fraction of 1 in per cent."""
    return NOTHING if part is None else f"{float(part) * 100:.1f} %"


def number(value: float | None) -> str:
    """A count, with thousands apart."""
    return NOTHING if value is None else f"{value:,}"


def plural(amount: int, noun: str) -> str:
    """`1 job`, `2 jobs`."""
    return f"{number(amount)} {noun}" + ("" if amount == 1 else "s")


def text(value: object) -> str:
    """Foreign text on one line and without anything that could command a terminal or turn the reading direction."""
    if value is None or value == "":
        return NOTHING
    return "".join(c if c.isprintable() else " " if c.isspace() else "�" for c in str(value))


def _coarse(seconds: float) -> str:
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return "0 s"
