"""Groups passages into calls of an embedder, each text once."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass

import asyncpg

_WINDOW = 1024


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts to embed; `rows` says for every passage which of their vectors is its own."""

    texts: list[str]
    passages: list[asyncpg.Record]
    rows: list[int]

    def column(self, name: str) -> list[object]:
        """One field of every passage."""
        return [passage[name] for passage in self.passages]


def window_size(best_batch: int) -> int:
    """How many passages to look at in one go, so that they make full batches and stay small in memory."""
    return max(1, _WINDOW // best_batch) * best_batch


def batches(passages: Sequence[asyncpg.Record], size: int) -> Iterator[Batch]:
    """Passages of equal text stand in one batch, and share a vector."""
    by_hash: dict[str, list[asyncpg.Record]] = {}
    for passage in passages:
        by_hash.setdefault(passage["text_hash"], []).append(passage)
    groups = list(by_hash.values())
    for start in range(0, len(groups), size):
        batch = groups[start : start + size]
        members = [(row, passage) for row, group in enumerate(batch) for passage in group]
        yield Batch(
            texts=[group[0]["passage"] for group in batch],
            passages=[passage for _, passage in members],
            rows=[row for row, _ in members],
        )


async def for_each(
    found: Iterable[Batch], work: Callable[[Batch], Coroutine[None, None, None]], *, side_by_side: bool
) -> None:
    """Work on every batch. One by one where calls are paid for: what is paid for is safe before more is bought."""
    if not side_by_side:
        for batch in found:
            await work(batch)
        return
    try:
        async with asyncio.TaskGroup() as group:
            for batch in found:
                group.create_task(work(batch))
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
