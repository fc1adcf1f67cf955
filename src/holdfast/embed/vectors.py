"""Vectors on their way into the database: checked, then sent in pgvector's own binary form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import asyncpg

from holdfast.db.connection import Database
from holdfast.db.time_limits import lift_time_limits
from holdfast.errors import PhaseError, StorageUnavailable
from holdfast.providers.embedder import Embedded, Embedder

if TYPE_CHECKING:
    from holdfast.providers.embedder import Vectors

INDEX_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Model:
    """An embedder as the database knows it. `vector_type` is the name of pgvector's type."""

    id: int
    takes_vectors: bool
    active_name: str
    vector_type: str

    @property
    def _place(self) -> tuple[str, str]:
        schema, _, name = self.vector_type.rpartition(".")
        return schema.strip('"'), name


async def register(database: Database, embedder: Embedder) -> Model:
    """Make the embedder known. Raises StorageUnavailable when this PostgreSQL cannot store vectors."""
    row = await database.fetchrow("select * from holdfast.register_embedder($1, $2)", embedder.name, embedder.dimension)
    assert row is not None
    if row["vector_type"] is None:
        raise StorageUnavailable(
            "this database has no pgvector 0.8 or newer that Holdfast may use: run `create extension vector` as a "
            "superuser, or what `holdfast migrate --check` says, then `holdfast migrate`, then retry",
            error_code="NO_PGVECTOR",
        )
    return Model(row["id"], row["takes_vectors"], row["active_name"], row["vector_type"])


async def embed_checked(embedder: Embedder, texts: Sequence[str]) -> Embedded:
    """Embed, and refuse an answer that could not be stored or compared; it was paid for all the same."""
    embedded = await embedder.embed(texts)
    wrong = _what_is_wrong(embedded.vectors, len(texts), embedder.dimension)
    if wrong:
        raise PhaseError(
            f'model "{embedder.name}" answered {wrong}: correct its dimension in the settings, or choose another model',
            error_code="WRONG_VECTORS",
            cost_usd=embedded.cost_usd,
        )
    return embedded


async def call_with_vectors(database: Database, sql: str, *arguments: object, model: Model, vectors: "Vectors") -> Any:
    """The answer of a statement, a transaction of its own, whose last parameter is an array of pgvector's type.

    In its binary form a vector costs a fifth of the time of an array of numbers. Each connection has to learn that form
    once; one that has not yet refuses before it sends anything.
    """
    rows = _binary(vectors)
    async with database.statement() as connection:
        try:
            return await connection.fetchval(sql, *arguments, rows)
        except asyncpg.DataError as error:
            if error.sqlstate is not None and "expected str" not in str(error):
                raise
        schema, name = model._place
        await connection.set_type_codec(name, schema=schema, encoder=_unchanged, decoder=_unchanged, format="binary")
        return await connection.fetchval(sql, *arguments, rows)


async def build_index(database: Database, model: Model) -> None:
    """Give the model its index of nearest vectors, if it has none and so many vectors that it needs one."""
    if await database.fetchval("select holdfast.needs_index($1)", model.id):
        async with database.transaction() as connection:
            await lift_time_limits(connection)
            await connection.execute("select holdfast.index_embedder($1)", model.id, timeout=INDEX_SECONDS)


def _what_is_wrong(vectors: "Vectors", count: int, dimension: int) -> str | None:
    import numpy as np

    if vectors.shape != (count, dimension):
        return f"{len(vectors)} vectors of shape {vectors.shape[1:]} where {count} of {dimension} numbers were promised"
    if not np.isfinite(vectors).all():
        return "a vector that holds no numbers"
    return None


def _binary(vectors: "Vectors") -> list[bytes]:
    """Two numbers of two bytes, the dimension and 0, then the numbers, all with the most significant byte first."""
    dimension = int(vectors.shape[1])
    head = dimension.to_bytes(2) + b"\0\0"
    return [head + row.tobytes() for row in vectors.astype(">f4")]


def _unchanged(value: bytes) -> bytes:
    return value
