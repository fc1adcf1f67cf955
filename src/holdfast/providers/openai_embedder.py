"""Embeddings from any server that speaks OpenAI's interface."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from holdfast.errors import AnswerNotJson, InvalidInput
from holdfast.providers.embedder import Embedded, check_texts
from holdfast.providers.http import HttpApi
from holdfast.providers.usage import FREE, Prices, Usage, estimate_tokens, read_usage

if TYPE_CHECKING:
    from holdfast.providers.embedder import Vectors


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model and how long its vectors are. `shortens` asks for that length, of models that have several."""

    name: str
    dimension: int
    shortens: bool = False
    best_batch: int = 128
    prices: Prices = FREE

    def __post_init__(self) -> None:
        if self.dimension < 1 or not 1 <= self.best_batch <= 2048:
            raise InvalidInput(f'embedding model "{self.name}": dimension must be at least 1, best_batch 1 to 2048')


class OpenAIEmbedder:
    """Asks for all texts in one call, whatever their number. Its name tells model and dimension."""

    def __init__(self, api: HttpApi, model: EmbeddingModel) -> None:
        self.name = f"{model.name}-{model.dimension}"
        self.dimension = model.dimension
        self.best_batch = model.best_batch
        self.paid = model.prices.input_usd > 0
        self.provider: str | None = api.provider
        self._api = api
        self._model = model

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """An answer with a vector missing, or of another length, is refused whole, and says what it cost."""
        check_texts(texts)
        if not texts:
            return Embedded(_matrix([], self.dimension))
        request: dict[str, Any] = {"model": self._model.name, "input": list(texts), "encoding_format": "float"}
        if self._model.shortens:
            request["dimensions"] = self.dimension
        body = json.dumps(request).encode()
        sent = "".join(texts).encode()
        answer = await self._api.post(
            "embeddings",
            content=body,
            headers={"Content-Type": "application/json"},
            assumed_usd=self._model.prices.cost(Usage(estimate_tokens(len(sent)))),
        )
        usage = read_usage(answer.get("usage"), sent=sent)
        cost_usd = self._model.prices.cost(usage)
        vectors = self._read(answer, count=len(texts), cost_usd=cost_usd)
        return Embedded(vectors, tokens=usage.input_tokens, cost_usd=cost_usd)

    def _read(self, answer: Mapping[str, Any], *, count: int, cost_usd: Decimal) -> "Vectors":
        try:
            rows = sorted(answer["data"], key=lambda row: int(row["index"]))
            positions = [int(row["index"]) for row in rows]
            vectors = _matrix([row["embedding"] for row in rows], self.dimension)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            text = f"{self._model.name} answered with no vectors of {self.dimension} numbers: check model and dimension"
            raise AnswerNotJson(text, error_code="WRONG_VECTORS", cost_usd=cost_usd) from error
        if positions != list(range(count)):
            text = f"{self._model.name} answered with {len(rows)} vectors for {count} texts"
            raise AnswerNotJson(f"{text}: the call is made again later", error_code="WRONG_VECTORS", cost_usd=cost_usd)
        return vectors


def _matrix(rows: list[Any], dimension: int) -> "Vectors":
    """Rows of numbers as unit vectors, or ValueError: a row of another length, a zero, infinity, text."""
    import numpy as np

    with np.errstate(over="ignore"):  # becomes infinity, which is refused below
        vectors: Vectors = np.array(rows, dtype=np.float32).reshape(len(rows), -1 if rows else dimension)
    lengths: Vectors = np.linalg.norm(vectors, axis=1, keepdims=True)
    if vectors.shape[1] != dimension or not np.isfinite(lengths).all() or not lengths.all():
        raise ValueError(f"not vectors of {dimension} numbers")
    vectors /= lengths
    return vectors
