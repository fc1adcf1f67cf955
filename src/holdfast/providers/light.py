"""The embedder that needs nothing: static word vectors, on the processor, from files of an installed package."""

import asyncio
import importlib.util
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.errors import PhaseError
from holdfast.providers.embedder import Embedded, check_texts

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

    from holdfast.providers.embedder import Vectors

_PACKAGE = "wordllama"
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
# Bounds what a text of any length takes: 4 MB of token vectors at a time.
_TOKENS_AT_ONCE = 4096

_loading = threading.Lock()


class LightEmbedder:
    """Light: the mean of its words' vectors, knowing nothing of their order. Loaded once per process, when first used.

    Reads wordllama's files without importing it: importing it would set up logging for the whole process, and its own
    pooling, which pads every text to the longest, takes three times as long for the same vectors.
    """

    def __init__(self) -> None:
        self.name = "light-256"
        self.dimension = 256
        self.best_batch = 256
        self.paid = False
        self.provider: str | None = None

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Runs in a thread, on one core; most of it outside the interpreter's lock, so that calls run side by side."""
        check_texts(texts)
        return await asyncio.to_thread(_embed, list(texts))


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: "Tokenizer"
    token_vectors: "Vectors"


def _embed(texts: list[str]) -> Embedded:
    import numpy as np

    with _loading:
        model = _load()
    encodings = model.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    vectors = np.empty((len(texts), model.token_vectors.shape[1]), dtype=np.float32)
    for encoding, vector in zip(encodings, vectors, strict=True):
        _sum_up(encoding, model.token_vectors, vector)
    # Scaling to length 1 makes the sum and the mean the same.
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Embedded(vectors, tokens=sum(map(len, encodings)))


def _sum_up(encoding: "Encoding", token_vectors: "Vectors", into: "Vectors") -> None:
    tokens: list[int] = encoding.ids
    token_vectors.take(tokens[:_TOKENS_AT_ONCE], axis=0).sum(axis=0, out=into)
    for start in range(_TOKENS_AT_ONCE, len(tokens), _TOKENS_AT_ONCE):
        into += token_vectors.take(tokens[start : start + _TOKENS_AT_ONCE], axis=0).sum(axis=0)


@cache
def _load() -> _Model:
    import numpy as np
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    # Calls side by side use the cores better than one that is spread over all of them, and leave some to others.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    folder = _package_folder()
    try:
        tokenizer: Any = Tokenizer.from_file(str(folder / _TOKENIZER))
        weights = load_file(folder / _WEIGHTS)["embedding.weight"]
    except Exception as error:
        text = f"the files of the light embedder cannot be read: reinstall the package {_PACKAGE}"
        raise PhaseError(text, error_code="MODEL_MISSING") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return _Model(tokenizer, np.ascontiguousarray(weights, dtype=np.float32))


def _package_folder() -> Path:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise PhaseError(f"the light embedder is not there: install {_PACKAGE}", error_code="MODEL_MISSING")
    return Path(spec.origin).parent
