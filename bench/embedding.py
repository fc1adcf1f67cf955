"""What embedding costs beyond the embedder itself: the embed phase, against the embedder called in a bare loop."""

import tempfile
from pathlib import Path
from statistics import median

from bench.bare import run_bare
from bench.carrier import Carrier, carrier
from bench.figure import Figure
from bench.place import Place, connected
from bench.prose import Prose

SECTIONS = 100


async def measure(place: Place) -> list[Figure]:
    """Passages per second of both, in turn, the loading of the model included."""
    worker, bare = [], []
    for number in range(place.scale.rounds):
        async with carrier(place, f"embedding_{number}") as documents:
            passages = await _prepare(documents, place.scale.books)
            bare.append(passages / await run_bare("bench.bare_embedding", documents.settings.database_url or ""))
            worker.append(passages / await _embed(documents, place.scale.books))
    return [
        Figure(
            name=f"embedding of {passages:,} passages",
            measured=median(worker),
            against=median(bare),
            unit="passages/s",
            baseline="bare loop, best batch size",
            demand="at least",
            bound=0.9,
        )
    ]


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
