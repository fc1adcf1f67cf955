"""Gathers the texts of callers who come at the same time into batches as large as the embedder likes best."""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING

from holdfast.errors import Category, PhaseError
from holdfast.providers.embedder import Embedded, Embedder, check_texts

if TYPE_CHECKING:
    from holdfast.providers.embedder import Vectors

# What may be the fault of one caller's text, is refused before it is paid for, and need not fail the others.
_ONE_CALLERS = frozenset(
    {Category.CONTENT_POLICY, Category.TOKEN_LIMIT, Category.TOO_LARGE, Category.EMPTY_TEXT, Category.UNKNOWN}
)

_SMALLEST_USD = Decimal("1e-12")


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    texts: Sequence[str]
    answer: "asyncio.Future[Embedded]"


class Gathering:
    """An embedder in front of another. While `at_once` calls are under way, whoever comes waits and goes with the next.

    Nobody waits when there is nothing to wait for: the first call leaves at once, with all who came in the same turn of
    the event loop. A text that the inner embedder refuses fails its own caller only. The cost of a batch is shared out
    by length of text, exactly. Belongs to one event loop.
    """

    def __init__(self, inner: Embedder, *, at_once: int = 1) -> None:
        self.name = inner.name
        self.dimension = inner.dimension
        self.best_batch = inner.best_batch
        self.paid = inner.paid
        self.provider = inner.provider
        self._inner = inner
        self._at_once = at_once
        self._waiting: deque[_Request] = deque()
        self._running = 0
        self._runners: set[asyncio.Task[None]] = set()  # the event loop itself holds tasks only weakly

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """As the inner embedder does. A failure tells what the parts before it cost."""
        check_texts(texts)
        if not texts:
            return await self._inner.embed(texts)
        parts: list[Embedded] = []
        for part in _parts(texts, self.best_batch):
            try:
                parts.append(await self._ask(part))
            except PhaseError as error:
                error.cost_usd += _cost(parts)
                raise
        return _joined(parts)

    def _ask(self, texts: Sequence[str]) -> "asyncio.Future[Embedded]":
        loop = asyncio.get_running_loop()
        request = _Request(texts, loop.create_future())
        self._waiting.append(request)
        if self._running < self._at_once:
            self._running += 1
            runner = loop.create_task(self._run())
            self._runners.add(runner)
            runner.add_done_callback(self._runners.discard)
        return request.answer

    async def _run(self) -> None:
        try:
            while batch := self._next_batch():
                await self._answer(batch)
        finally:
            self._running -= 1

    def _next_batch(self) -> list[_Request]:
        """Take whole requests, those nobody waits for any more left out, as many as fit."""
        batch: list[_Request] = []
        room = self.best_batch
        while self._waiting and (not batch or len(self._waiting[0].texts) <= room):
            request = self._waiting.popleft()
            if not request.answer.done():
                batch.append(request)
                room -= len(request.texts)
        return batch

    async def _answer(self, batch: list[_Request]) -> None:
        try:
            embedded = await self._inner.embed([text for request in batch for text in request.texts])
        except asyncio.CancelledError:
            _cancel(batch)
            raise
        except Exception as error:
            if len(batch) > 1 and _is_one_callers(error):
                for request in batch:
                    await self._answer([request])
            else:
                _fail(batch, error)
        else:
            _share_out(batch, embedded)


def _parts(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def _joined(parts: list[Embedded]) -> Embedded:
    if len(parts) == 1:
        return parts[0]
    import numpy as np

    return Embedded(
        np.concatenate([part.vectors for part in parts]),
        tokens=sum(part.tokens for part in parts),
        cost_usd=_cost(parts),
    )


def _cost(parts: list[Embedded]) -> Decimal:
    return sum((part.cost_usd for part in parts), start=Decimal(0))


def _is_one_callers(error: Exception) -> bool:
    return isinstance(error, PhaseError) and error.category in _ONE_CALLERS


def _fail(batch: list[_Request], error: Exception) -> None:
    """Give each caller an error of its own; what the failed call cost is told once."""
    for position, request in enumerate(batch):
        if not request.answer.done():
            request.answer.set_exception(error if position == 0 else _costless(error))


def _costless(error: Exception) -> Exception:
    if not isinstance(error, PhaseError):
        return error
    copy = type(error)(
        str(error),
        error_code=error.error_code,
        details=error.details,
        retry_after_seconds=error.retry_after_seconds,
    )
    copy.__cause__ = error.__cause__
    return copy


def _cancel(batch: list[_Request]) -> None:
    for request in batch:
        request.answer.cancel()


def _share(cost: Decimal, length: int, of_length: int) -> Decimal:
    """A part of the cost, rounded down; the last part is whatever is left, so that nothing is lost."""
    return cost if length == of_length else (cost * length / of_length).quantize(_SMALLEST_USD, ROUND_DOWN)


def _share_out(batch: list[_Request], embedded: Embedded) -> None:
    lengths = [sum(map(len, request.texts)) for request in batch]
    tokens_left, cost_left, length_left, row = embedded.tokens, embedded.cost_usd, sum(lengths), 0
    for request, length in zip(batch, lengths, strict=True):
        tokens, cost = tokens_left * length // length_left, _share(cost_left, length, length_left)
        vectors: Vectors = embedded.vectors[row : row + len(request.texts)]
        if not request.answer.done():
            request.answer.set_result(Embedded(vectors, tokens=tokens, cost_usd=cost))
        tokens_left, cost_left, length_left = tokens_left - tokens, cost_left - cost, length_left - length
        row += len(request.texts)
