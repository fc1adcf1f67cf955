"""How often a search finds the passage that answers: by words, by vectors and by both, without and with context."""

import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.carrier import ORGANISATION, Carrier, carrier
from bench.figure import Figure
from bench.place import Place, connected
from bench.questions import Labelled, generated_texts, questions
from holdfast.app import App
from holdfast.search.hit import Hit, Mode

LIBRARY = Path(__file__).parent.parent / "examples" / "library"
DEPTH = 5
LOOKED_AT = 50
MODES: dict[Mode, str] = {"words": "words alone", "vectors": "vectors alone", "fused": "both"}
WITHOUT_CONTEXT = """
update holdfast.chunk
set context = '',
    words = setweight(to_tsvector(configuration, text), 'B'),
    text_hash = holdfast.hash_of_embedded('', text)
"""


@dataclass(frozen=True, slots=True)
class Quality:
    """Recall is the share of questions whose answer is among the first five; a rank of r counts 1/r in the mean."""

    way: str
    recall: float
    mean_reciprocal_rank: float


async def measure(place: Place) -> list[Figure]:
    """Every way against the one that is used: by both, with context."""
    async with carrier(place, "quality") as documents:
        await _ingest(documents)
        async with documents.opened() as app:
            with_context = [quality async for quality in _measure_modes(app, "with context")]
            await _forget_contexts(documents)
            await app.reindex(None, organisation=None, on_progress=lambda _: None)
            without = [quality async for quality in _measure_modes(app, "without context")]
    *others, used = [*without, *with_context]
    return [figure for other in others for figure in _figures(other, used)]


async def _ingest(documents: Carrier) -> None:
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-texts-") as home:
        for name, text in generated_texts():
            (Path(home) / name).write_text(text)
        await documents.take_in(Path(home))
        await documents.take_in(LIBRARY)
        await documents.work()


async def _forget_contexts(documents: Carrier) -> None:
    async with connected(documents.settings.database_url or "") as connection:
        await connection.execute(WITHOUT_CONTEXT)
        await connection.execute("vacuum analyze")


async def _measure_modes(app: App, context: str) -> AsyncIterator[Quality]:
    for mode, way in MODES.items():
        ranks = [await _rank(app, labelled, mode) for labelled in questions()]
        yield Quality(
            f"{way}, {context}",
            recall=sum(rank is not None and rank <= DEPTH for rank in ranks) / len(ranks),
            mean_reciprocal_rank=sum(1 / rank for rank in ranks if rank is not None) / len(ranks),
        )


async def _rank(app: App, labelled: Labelled, mode: Mode) -> int | None:
    found = await app.search.find(labelled.question, organisation=ORGANISATION, mode=mode, limit=LOOKED_AT)
    return _first_right(found.hits, labelled)


def _first_right(hits: Sequence[Hit], labelled: Labelled) -> int | None:
    answer = _plain(labelled.answer)
    for rank, hit in enumerate(hits, start=1):
        if hit.source_name == labelled.source and answer in _plain(hit.text):
            return rank
    return None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _figures(other: Quality, used: Quality) -> list[Figure]:
    measures = (
        (f"recall@{DEPTH}", other.recall, used.recall),
        ("MRR", other.mean_reciprocal_rank, used.mean_reciprocal_rank),
    )
    return [
        Figure(
            name=other.way,
            measured=measured,
            against=against,
            unit=measure,
            baseline=used.way,
            demand="at most",
        )
        for measure, measured, against in measures
    ]
