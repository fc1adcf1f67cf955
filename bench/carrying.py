"""The whole pipeline on all cores: how fast documents pass it, each phase by itself, and which one is the limit."""

import tempfile
from pathlib import Path

from bench.carrier import Carrier, Spent, carrier
from bench.figure import Figure
from bench.files import write_reports
from bench.place import Place

PHASES = ("store", "extract", "validate", "chunk", "embed", "graph_extract", "graph_add", "publish")


async def measure(place: Place) -> list[Figure]:
    """Documents per second from the first claim to the last settlement: of all phases at once, then one by one."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-files-") as home:
        folder = Path(home) / "files"
        write_reports(folder, place.scale.files)
        megabytes = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        async with carrier(place, "carrying_together") as documents:
            await documents.take_in(folder)
            await documents.work()
            together = await _seconds_together(documents)
            _check(await documents.spent(), place.scale.files)
        async with carrier(place, "carrying_alone") as documents:
            await documents.take_in(folder)
            for phase in PHASES:
                await documents.work(phase)
            alone = await documents.spent()
            _check(alone, place.scale.files)
    return _figures(alone, together, documents=place.scale.files, megabytes=megabytes)


def _figures(alone: dict[str, Spent], together: float, *, documents: int, megabytes: float) -> list[Figure]:
    limit = max(alone.values(), key=lambda spent: spent.seconds).phase
    in_turn = sum(spent.seconds for spent in alone.values())
    whole = Figure(
        name=f"all phases at once, {megabytes / together:.2f} MB/s",
        measured=documents / together,
        against=documents / in_turn,
        unit="documents/s",
        baseline="one phase after the other",
        demand="at least",
        bound=0.9,
    )
    return [whole, *(_alone(spent, together, megabytes, limit=limit) for spent in alone.values())]


def _alone(spent: Spent, together: float, megabytes: float, *, limit: str) -> Figure:
    said = ", the limit" if spent.phase == limit else ""
    return Figure(
        name=f"{spent.phase} alone, {megabytes / spent.seconds:.2f} MB/s{said}",
        measured=spent.documents / spent.seconds,
        against=spent.documents / together,
        unit="documents/s",
        baseline="all phases at once",
        demand="at least",
    )


async def _seconds_together(documents: Carrier) -> float:
    async with documents.opened() as app:
        seconds = await app.database.fetchval(
            "select extract(epoch from max(ended_at) - min(started_at))::float8 from holdfast.pipeline_phase"
        )
        return float(seconds)


def _check(spent: dict[str, Spent], documents: int) -> None:
    for phase in PHASES:
        completed = spent[phase].completed if phase in spent else 0
        if completed != documents:
            raise RuntimeError(f"{completed} of {documents} documents passed {phase}: the figures would say nothing")
