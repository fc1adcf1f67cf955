"""What passages speak of, and what that stands next to."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from holdfast.db.connection import Database
from holdfast.engine.strict_json import dump


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity that stands next to another: how, by whose word, in how many chunks, and one of them."""

    kind: str
    name: str
    predicate: str
    outward: bool
    maker: str
    strength: int
    document_id: int
    ordinal: int


@dataclass(frozen=True, slots=True)
class Spoken:
    """An entity that passages speak of, in so many of them, with its strongest neighbours first."""

    kind: str
    name: str
    passages: int
    neighbours: tuple[Neighbour, ...]


async def neighbourhood(
    database: Database, organisation: str, chunks: Iterable[tuple[int, int]], *, limit: int = 8
) -> list[Spoken]:
    """What these chunks, each a document and an ordinal, speak of most. Only searchable documents speak."""
    body = dump([{"document_id": document_id, "ordinal": ordinal} for document_id, ordinal in chunks]).decode()
    rows = await database.fetch(
        "select * from holdfast.neighbourhood($1, $2::text::jsonb, $3)", organisation, body, limit
    )
    spoken = []
    for _, group in groupby(rows, key=lambda row: row["entity_id"]):
        of_one = list(group)
        first = of_one[0]
        neighbours = tuple(
            Neighbour(
                row["neighbour_kind"],
                row["neighbour_name"],
                row["predicate"],
                row["outward"],
                row["maker"],
                row["strength"],
                row["document_id"],
                row["ordinal"],
            )
            for row in of_one
            if row["neighbour_name"] is not None
        )
        spoken.append(Spoken(first["kind"], first["name"], first["passages"], neighbours))
    return spoken
