"""What extraction costs beyond reading: through a worker, against the same readers in a bare process pool."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

from bench.bare import run_bare
from bench.bare_reading import CORES
from bench.carrier import carrier
from bench.figure import Figure
from bench.files import write_notes, write_reports
from bench.place import Place


async def measure(place: Place) -> list[Figure]:
    """Documents per second of both over the same files, in turn, the start of the processes that read included."""
    # What is paid for each document, whatever its length, weighs most where there is least to read.
    notes = await _measure_files(place, "notes", write_notes)
    reports = await _measure_files(place, "reports and scans", write_reports)
    return [replace(notes, demand=None), reports]


async def _measure_files(place: Place, what: str, write: Callable[[Path, int], None]) -> Figure:
    count = place.scale.files
    worker, bare = [], []
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-files-") as home:
        folder = Path(home) / "files"
        write(folder, count)
        kilobytes = sum(path.stat().st_size for path in folder.iterdir()) / 1000 / count
        for number in range(place.scale.rounds):
            bare.append(count / await run_bare("bench.bare_reading", str(folder)))
            worker.append(count / await _extract(place, folder, f"extracting_{what[:5]}_{number}"))
    return Figure(
        name=f"extraction of {count} mixed {what} of {kilobytes:.0f} kB",
        measured=median(worker),
        against=median(bare),
        unit="documents/s",
        baseline=f"bare pool of {CORES}",
        demand="at least",
        bound=0.9,
    )


async def _extract(place: Place, folder: Path, name: str) -> float:
    """Seconds from the first claim to the last settlement."""
    async with carrier(place, name) as documents:
        await documents.take_in(folder)
        await documents.work("store")
        await documents.work("extract")
        spent = (await documents.spent())["extract"]
        if spent.completed != place.scale.files:
            raise RuntimeError(f"{spent.completed} of {place.scale.files} files were extracted: the rest failed")
        return spent.seconds
