"""What embedding costs beyond the embedder itself: the embed phase, against the embedder called in a bare loop."""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from bench.bare import run_bare
from bench.carrier import Carrier, carrier
from bench.figure import Figure
from bench.place import Place, connected
from bench.prose import Prose
from bench.served_model import SETTINGS

SECTIONS = 100


CORES = os.cpu_count() or 1


async def measure(place: Place) -> list[Figure]:
    """The default model, and one that is served elsewhere, as larger ones are.

    A call of the default model takes one core and a worker makes several at once, so it is also compared with as many
    bare loops as there are cores: they leave nothing to whoever stores the vectors.
    """
    async with _served_model() as url:
        return [
            *await _measure_model(place, "by the default model", loops=(1, CORES)),
            *await _measure_model(place, "by a model elsewhere", url, loops=(1,)),
        ]


async def _measure_model(place: Place, what: str, *address: str, loops: tuple[int, ...]) -> list[Figure]:
    """Passages per second of both, in turn, the loading of the model included."""
    variables = {**SETTINGS, "HOLDFAST_EMBEDDER_BASE_URL": address[0]} if address else {}
    worker: list[float] = []
    bare: dict[int, list[float]] = {at_once: [] for at_once in loops}
    for number in range(place.scale.rounds):
        async with carrier(place, f"embedding_{number}", variables) as documents:
            passages = await _prepare(documents, place.scale.books)
            dsn = documents.settings.database_url or ""
            for at_once in loops:
                seconds = await run_bare("bench.bare_embedding", dsn, str(at_once), *address)
                bare[at_once].append(passages / seconds)
            worker.append(passages / await _embed(documents, place.scale.books))
    return [
        Figure(
            name=f"embedding of {passages:,} passages {what}",
            measured=median(worker),
            against=median(bare[at_once]),
            unit="passages/s",
            baseline="bare loop, best batch size" if at_once == 1 else f"{at_once} bare loops at once",
            demand="at least" if at_once == 1 else None,
            bound=0.9,
        )
        for at_once in loops
    ]


@asynccontextmanager
async def _served_model() -> AsyncIterator[str]:
    """The address of a model in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.served_model", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.terminate()
        await process.wait()


async def _prepare(documents: Carrier, books: int) -> int:
    """Make long documents, chunked and not embedded yet, and say how many passages they have."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-books-") as home:
        for number in range(books):
            (Path(home) / f"book-{number:03}.md").write_text(_book(number))
        await documents.take_in(Path(home))
        await documents.work("store", "extract", "validate", "chunk")
    async with connected(documents.settings.database_url or "") as connection:
        return int(await connection.fetchval("select count(*) from holdfast.chunk"))


def _book(number: int) -> str:
    prose = Prose(number)
    # A section fills a passage.
    sections = ("\n\n".join((f"## {prose.heading()}", *prose.paragraphs(3, 3))) for _ in range(SECTIONS))
    return "\n\n".join((f"# Book {number}", *sections))


async def _embed(documents: Carrier, books: int) -> float:
    """Seconds from the first claim to the last settlement."""
    await documents.work("embed")
    spent = (await documents.spent())["embed"]
    if spent.completed != books:
        raise RuntimeError(f"{spent.completed} of {books} documents were embedded: the rest failed")
    return spent.seconds
