"""What an embedder promises: texts in, vectors out."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol, TypeAlias

from holdfast.errors import EmptyText, InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """One vector per text, in order, each of length 1, as the rows of one float32 array; and what that cost.

    Cheap to store: `vectors.tobytes()`, or `vectors.tolist()` where numbers are needed.
    """

    vectors: "Vectors"
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)


class Embedder(Protocol):
    """Turns texts into vectors. `name` is stored with every vector: vectors of two names are never compared.

    Raises our errors only; a text with nothing in it is refused as EmptyText. `best_batch` is how many texts one call
    should carry; `paid` says that calls cost money. `provider` is what a hold names, None when it is local.
    """

    name: str
    dimension: int
    best_batch: int
    paid: bool
    provider: str | None

    async def embed(self, texts: Sequence[str]) -> Embedded: ...


def check_texts(texts: Sequence[str]) -> None:
    """Refuse what no embedder can turn into a vector: a blank text (EmptyText) or broken Unicode (InvalidInput)."""
    for position, text in enumerate(texts, start=1):
        if not text or text.isspace():
            what = f"text {position} of {len(texts)} is blank"
            raise EmptyText(f"{what}: leave it out, there is nothing to embed", error_code="BLANK_TEXT")
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                what = f"text {position} of {len(texts)} holds a lone surrogate"
                raise InvalidInput(f"{what}: decode it properly first") from error
