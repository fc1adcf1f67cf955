"""How people are told where a passage stands."""

from collections.abc import Mapping, Sequence
from typing import Any


def place(where: Mapping[str, Any]) -> str:
    """Where a passage stands, in words: `page 3`, `12:05-12:40, Harbour master`."""
    parts = [_numbers("page", where.get("pages", [])), _numbers("slide", where.get("slides", []))]
    if sheets := where.get("sheets"):
        parts.append(f"sheet {', '.join(sheets)}")
    if seconds := where.get("seconds"):
        parts.append("-".join(clock(second) for second in seconds))
    if speakers := where.get("speakers"):
        parts.append(", ".join(speakers))
    if heading := where.get("heading"):
        parts.append(" > ".join(heading))
    return " · ".join(part for part in parts if part)


def clock(seconds: float) -> str:
    """`12:05`, or `1:02:05` when there are hours."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _numbers(name: str, numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    named = (f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
    return f"{name}{'s' if len(numbers) > 1 else ''} {', '.join(named)}"
