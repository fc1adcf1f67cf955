"""How figures are said: money, durations, ages and moments, the same on every page."""

import re
from datetime import datetime
from decimal import Decimal

from markupsafe import Markup

from holdfast.dashboard.markup import Content, join, tag

NOTHING = "\N{EN DASH}"
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")


def count(number: int | None) -> str:
    """1234567 as 1,234,567."""
    return NOTHING if number is None else f"{number:,}"


def money(amount: Decimal | float | None) -> str:
    """To the cent where that says enough, more exactly where it would say nothing."""
    if amount is None:
        return NOTHING
    value = float(amount)
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}" if value >= 0.0001 else "<$0.0001"


def duration(seconds: float | None) -> str:
    """Two units at most: 3 d 4 h, 12 min, 4.2 s, 80 ms."""
    if seconds is None:
        return NOTHING
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, hours, days = int(seconds // 60), int(seconds // 3600), int(seconds // 86400)
    if hours < 1:
        return f"{minutes} min"
    if days < 1:
        return f"{hours} h {minutes % 60} min"
    return f"{days} d {hours % 24} h"


def share(part: float | None) -> str:
    """A fraction in per cent."""
    return NOTHING if part is None else f"{part * 100:.1f} %"


def size(number: int | None) -> str:
    """Bytes in the unit that suits them."""
    if number is None:
        return NOTHING
    amount, unit = float(number), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def moment(at: datetime | None, *, otherwise: str = NOTHING) -> Markup | str:
    """How long ago or how soon, in the viewer's own words and zone; the exact time when pointed at.

    The browser fills it in: only it knows the viewer's zone.
    """
    if at is None:
        return otherwise
    exact = at.isoformat(timespec="seconds")
    return tag("time", exact, datetime=exact)


def badge(word: str, *, kind: str | None = None) -> Markup:
    """A state or category as a coloured word. The word itself says it all, for those who see no colours."""
    return tag("span", word, class_=f"badge {kind or word}")


def breakable(name: str) -> Content:
    """A name that may go on in the next line after each of its underscores."""
    first, *others = name.split("_")
    return [first, *(part for other in others for part in ("_", tag("wbr"), other))]


def figure(value: Content, caption: Content, *, kind: str = "") -> Markup:
    """A number that matters, with what it counts."""
    return tag("div", tag("b", value), tag("span", caption), class_=f"figure {kind}".strip())


def nothing_yet(what: str, *next_step: Content) -> Markup:
    """What stands where there is nothing to show: why, and what to do next."""
    return tag("div", tag("p", what), tag("p", *next_step) if next_step else None, class_="empty")


def next_step(said: str) -> Markup:
    """What happens next, with the moments in it told by the viewer's clock."""
    parts = _MOMENT.split(said)
    return join(
        [tag("time", part, datetime=part, data_as="clock") if _MOMENT.fullmatch(part) else part for part in parts]
    )
