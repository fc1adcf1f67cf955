"""How far an ingestion is: a bar for each phase on a terminal, a plain line now and then elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from holdfast.cli.formats import number

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

PLAIN_SECONDS = 5.0
LONGEST_BAR = 28
SHORTEST_BAR = 4
# What stands beside a bar: the phase, how many are past it, and where the others are.
BESIDE_BAR = 52
ENDING = "ending: what runs may finish, the rest goes on at the next call; Ctrl-C again to leave it at once"
AWAY = "the database is away, and waited for"
LEAVING = "leaving: what still runs is given back, uncharged, and goes on at the next call"


class Picture(Protocol):
    """Shows where a family of jobs stands."""

    def taken_in(self, count: int) -> None:
        """So many sources were taken in so far."""

    def show(self, phases: list[dict[str, Any]]) -> None:
        """The jobs stand like this, phase by phase."""

    def away(self, reason: str) -> None:
        """The database does not answer; it is waited for."""

    def ending(self) -> None:
        """Someone does not want to wait any more."""

    def leaving(self) -> None:
        """Someone does not want to wait even for what runs."""


@contextmanager
def shown(*, quiet: bool) -> Iterator[Picture]:
    """A picture on stderr while the block runs; when quiet, only what it waits for."""
    if quiet:
        yield _Nothing()
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(stderr=True), refresh_per_second=8, transient=True) as live:
            yield Bars(live)
    else:
        yield _Lines()


class _Nothing:
    def taken_in(self, count: int) -> None:
        pass

    def show(self, phases: list[dict[str, Any]]) -> None:
        pass

    def away(self, reason: str) -> None:
        _print_away(reason)

    def ending(self) -> None:
        pass

    def leaving(self) -> None:
        pass


class _Lines:
    def __init__(self) -> None:
        self._taken_in = 0
        self._next_at = time.monotonic() + PLAIN_SECONDS

    def taken_in(self, count: int) -> None:
        self._taken_in = count

    def show(self, phases: list[dict[str, Any]]) -> None:
        if time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + PLAIN_SECONDS
        under_way = ", ".join(_told(row) for row in phases if _under_way(row))
        done = phases[-1]["passed"] if phases else 0
        told = f"{self._taken_in:,} taken in, {done:,} complete; {under_way or 'nothing under way'}"
        print(told, file=sys.stderr, flush=True)

    def away(self, reason: str) -> None:
        _print_away(reason)

    def ending(self) -> None:
        print(ENDING, file=sys.stderr, flush=True)

    def leaving(self) -> None:
        print(LEAVING, file=sys.stderr, flush=True)


class Bars:
    """A bar for each phase, drawn anew whenever something moves."""

    def __init__(self, live: "Live") -> None:
        self._live = live
        self._taken_in = 0

    def taken_in(self, count: int) -> None:
        self._taken_in = count

    def show(self, phases: list[dict[str, Any]]) -> None:
        self._live.update(self._table(phases))

    def away(self, reason: str) -> None:
        self._live.console.print(f"{AWAY}: {reason}", style="yellow", markup=False, highlight=False)

    def ending(self) -> None:
        self._live.console.print(ENDING, style="dim")

    def leaving(self) -> None:
        self._live.console.print(LEAVING, style="dim")

    def _table(self, phases: list[dict[str, Any]]) -> "RenderableType":
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        width = max(SHORTEST_BAR, min(LONGEST_BAR, self._live.console.width - BESIDE_BAR))
        total = max([self._taken_in, *(_all(row, phases) for row in phases)])
        grid = Table.grid(padding=(0, 2))
        for side in ("left", "left", "right", "left"):
            grid.add_column(justify=side, no_wrap=True)
        grid.add_row(Text("taken in", style="bold"), "", Text(number(self._taken_in), style="bold"))
        for row in phases:
            bar = ProgressBar(total=max(total, 1), completed=row["passed"] + (row["progress"] or 0), width=width)
            grid.add_row(row["phase"], bar, Text(number(row["passed"])), _state(row))
        return grid


def _print_away(reason: str) -> None:
    print(f"{AWAY}: {reason}", file=sys.stderr, flush=True)


def _under_way(row: dict[str, Any]) -> int:
    return int(row["queued"] + row["working"] + row["waiting"])


def _told(row: dict[str, Any]) -> str:
    count = _under_way(row)
    return f"{row['phase']} {count}{_percent(row) if count == 1 else ''}"


def _percent(row: dict[str, Any]) -> str:
    """How far the only one at work is; of several there is no figure that would tell anything."""
    return f" ({row['progress']:.0%})" if row["working"] == 1 and row["progress"] is not None else ""


def _all(row: dict[str, Any], phases: list[dict[str, Any]]) -> int:
    """Every job that is past this phase, in it, or failed in it or before."""
    before = phases[: phases.index(row) + 1]
    return int(row["passed"] + sum(_under_way(one) + one["failed"] + one["cancelled"] for one in before))


def _state(row: dict[str, Any]) -> "RenderableType":
    from rich.text import Text

    parts = [("working", "yellow"), ("queued", "cyan"), ("waiting", "magenta"), ("failed", "bold red")]
    told = {"working": _percent(row)}
    return Text.assemble(
        *((f"{number(row[name])} {name}{told.get(name, '')}  ", style) for name, style in parts if row[name])
    )
