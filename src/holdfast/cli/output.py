"""Puts answers on stdout: one JSON document, or tables with colours on a terminal and plain aligned text elsewhere."""

import dataclasses
import json
from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from holdfast.cli.columns import Column, Row

if TYPE_CHECKING:
    from rich.console import RenderableType

UNLIMITED_WIDTH = 10_000
STYLES = {
    "queued": "cyan",
    "working": "yellow",
    "held": "magenta",
    "done": "green",
    "completed": "green",
    "failed": "red",
    "deadletter": "bold red",
    "timeout": "red",
    "lost": "red",
    "released": "magenta",
    "cancelled": "dim",
}


def answer(value: object, *, as_json: bool, render: Callable[[], None]) -> None:
    """Print the value itself for programs, or render it for people."""
    if as_json:
        print(json.dumps(value, default=_plain_json, ensure_ascii=False, indent=2))
    else:
        render()


def print_table(columns: Iterable[Column], rows: Iterable[Row], *, empty: str, title: str | None = None) -> None:
    """Print the rows, or what `empty` says to do next when there are none."""
    rows = list(rows)
    if title is not None:
        emit(heading(title))
    emit(table(columns, rows) if rows else empty)


def table(columns: Iterable[Column], rows: Iterable[Row]) -> "RenderableType":
    """Rows under headings; cells never wrap, the flexible ones are cut to fit."""
    from rich.table import Table
    from rich.text import Text

    columns = list(columns)
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        grid.add_column(column.title, justify="right" if column.right else "left", no_wrap=not column.flexible)
    for row in rows:
        cells = [column.cell(row) for column in columns]
        grid.add_row(*(Text(cell, style=STYLES.get(cell, ""), no_wrap=True, overflow="ellipsis") for cell in cells))
    return grid


def heading(title: str) -> "RenderableType":
    """A title over what follows."""
    from rich.text import Text

    return Text(f"\n{title}", style="bold underline")


def emit(*parts: "RenderableType") -> None:
    """Print as wide as the terminal is; elsewhere without colours, however long the lines get."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        console.print(*parts, sep="\n")
        return
    wide = Console(highlight=False, markup=False, emoji=False, width=UNLIMITED_WIDTH, color_system=None)
    with wide.capture() as captured:
        wide.print(*parts, sep="\n")
    # Cells are padded to their column's width, which only a terminal needs at the end of a line.
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _plain_json(value: object) -> object:
    match value:
        case datetime() | date():
            return value.isoformat()
        case Decimal():
            return float(value)
        case set() | frozenset():
            return sorted(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
