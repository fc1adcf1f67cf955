"""How a passage is shown to people: where it stands, in words, and the part of it that is worth reading."""

from collections.abc import Mapping, Sequence
from typing import Any

LONGEST = 700
AROUND = 120


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


def part(passage: str, highlights: Sequence[Sequence[int]]) -> tuple[int, int]:
    """From where to where it is worth reading: around the first word that was found, and whole words only."""
    if len(passage) <= LONGEST:
        return 0, len(passage)
    first = highlights[0][0] if highlights else 0
    start = max(0, min(first - AROUND, len(passage) - LONGEST))
    end = min(len(passage), start + LONGEST)
    if start:
        start = passage.find(" ", start, first) + 1 or start
    if end < len(passage):
        last = passage.rfind(" ", first, end)
        end = end if last < 0 else last
    return start, end


def _numbers(name: str, numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    if len(numbers) == 1:
        return f"{name} {numbers[0]}"
    return f"{name}s {numbers[0]}-{numbers[-1]}"
