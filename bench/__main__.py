"""Runs the benchmarks: `python -m bench [names…] [--quick | --smoke] [--json]`. A miss is reported, no exit code."""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable

from rich.console import Console
from rich.table import Table

from bench import (
    backlog,
    carrying,
    configurations,
    embedding,
    extracting,
    history,
    idle,
    isolated,
    latency,
    outage,
    quality,
    searching,
    submitting,
    throughput,
    viewing,
)
from bench.figure import Figure
from bench.place import Place, temporary_place
from bench.scale import FULL, QUICK, SMOKE, Scale

BENCHMARKS: dict[str, Callable[[Place], Awaitable[list[Figure]]]] = {
    "throughput": throughput.measure,
    "history": history.measure,
    "backlog": backlog.measure,
    "latency": latency.measure,
    "submitting": submitting.measure,
    "idle": idle.measure,
    "outage": outage.measure,
    "isolated": isolated.measure,
    "extracting": extracting.measure,
    "carrying": carrying.measure,
    "configurations": configurations.measure,
    "embedding": embedding.measure,
    "quality": quality.measure,
    "searching": searching.measure,
    "viewing": viewing.measure,
}
COLUMNS = ("figure", "measured", "against", "ratio", "demand", "")


def main() -> None:
    arguments = _arguments()
    progress = Console(stderr=True)
    progress.print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}: trust the ratios, not the times")
    figures = asyncio.run(_run(arguments.names or list(BENCHMARKS), arguments.scale, progress))
    if arguments.json:
        json.dump([figure.as_json() for figure in figures], sys.stdout, indent=2)
        print()
    else:
        Console(width=None if sys.stdout.isatty() else 120).print(_table(figures))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure speed, printed as ratios.")
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHMARKS))
    sizes = parser.add_mutually_exclusive_group()
    for option, scale, shows in (("--quick", QUICK, "shows a trend"), ("--smoke", SMOKE, "shows only that it runs")):
        text = f"smaller sizes: {shows}"
        sizes.add_argument(option, dest="scale", action="store_const", const=scale, default=FULL, help=text)
    parser.add_argument("--json", action="store_true", help="the figures as JSON on standard output")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}: name some of {', '.join(BENCHMARKS)}")
    return arguments


async def _run(names: list[str], scale: Scale, progress: Console) -> list[Figure]:
    figures: list[Figure] = []
    async with temporary_place(scale) as place:
        for name in names:
            began = time.perf_counter()
            for figure in await BENCHMARKS[name](place):
                figures.append(figure)
                progress.print(name, "|", " | ".join(figure.cells()), highlight=False, soft_wrap=True)
            progress.print(f"{name} took {time.perf_counter() - began:.0f} s", style="dim")
    return figures


def _table(figures: list[Figure]) -> Table:
    table = Table(*COLUMNS)
    for figure in figures:
        table.add_row(*figure.cells(), style=None if figure.passes else "red")
    return table


if __name__ == "__main__":
    main()
