"""What extraction costs beyond reading: through a worker, against the same readers in a bare process pool."""

import tempfile
from pathlib import Path
from statistics import median

from bench.bare import run_bare
from bench.bare_reading import CORES
from bench.carrier import carrier
from bench.figure import Figure
from bench.files import write_files
from bench.place import Place


async def measure(place: Place) -> list[Figure]:
    """Documents per second of both over the same files, in turn, the start of the processes that read included."""
    count = place.scale.files
    worker, bare = [], []
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-files-") as home:
        folder = Path(home) / "files"
        write_files(folder, count)
        for number in range(place.scale.rounds):
            bare.append(count / await run_bare("bench.bare_reading", str(folder)))
            worker.append(count / await _extract(place, folder, f"extracting_{number}"))
    return [
        Figure(
            name=f"extraction of {count} mixed files",
            measured=median(worker),
            against=median(bare),
            unit="documents/s",
            baseline=f"bare pool of {CORES}",
            demand="at least",
            bound=0.9,
        )
    ]


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
