"""What a chunk adds to the graph, whoever found it."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Protocol, Self

from holdfast.engine.attempt import Attempt

LONGEST_NAME = 255
MENTIONED_WITH = "mentioned_with"
"""The predicate of what merely stands side by side. Never a fact."""
PHRASE = "phrase"
"""The kind of words that are no name of anything."""
_EDGES = " \t\n\"'`´‘’“”«»‹›()[]{}<>,;:!?*_~|/\\"  # noqa: RUF001


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk to be read."""

    ordinal: int
    text: str


@dataclass(frozen=True, slots=True)
class Entity:
    """Something a chunk speaks of, and how often. Two of the same kind and normalised name are the same."""

    kind: str
    name: str
    normalised_name: str
    count: int = 1

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.normalised_name

    def again(self, count: int) -> Self:
        """The same, mentioned so many times more."""
        return replace(self, count=self.count + count)


@dataclass(frozen=True, slots=True)
class Relation:
    """How two entities of a chunk, named by their places in it, hang together, and how surely."""

    subject: int
    predicate: str
    object: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Contribution:
    """All that one chunk adds; `maker` says who found it."""

    ordinal: int
    maker: str
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """One line of the stored result, one item of `add_to_graph`. Rows, not objects: documents have many chunks."""
        return {
            "ordinal": self.ordinal,
            "maker": self.maker,
            "entities": [[one.kind, one.name, one.normalised_name, one.count] for one in self.entities],
            "relations": [[one.subject, one.predicate, one.object, one.confidence] for one in self.relations],
        }


@dataclass(frozen=True, slots=True)
class Findings:
    """What an extractor made of some passages, in order, and what that cost now.

    `dropped` things were named but do not stand in them, `refused` passages it would not read.
    """

    contributions: tuple[Contribution, ...]
    cost_usd: Decimal = Decimal(0)
    dropped: int = 0
    refused: int = 0


class Extractor(Protocol):
    """Finds entities and relations in passages of one document. The same passages give the same findings."""

    name: str

    async def find(self, attempt: Attempt, passages: Sequence[Passage]) -> Findings: ...

    def estimate_usd(self, passages: int, characters: int) -> Decimal:
        """What so many passages, of so many characters in all, may cost at most."""
        ...


def entity(kind: str, name: str, count: int = 1) -> Entity | None:
    """An entity by the name it is written with, or None if that is no name."""
    shown = _without_possessive(_printable(name).strip(_EDGES))[:LONGEST_NAME]
    normalised = normalise(name)
    return Entity(kind, shown, normalised, count) if normalised and shown else None


def normalise(name: str) -> str:
    """What two ways of writing a name have in common; empty when nothing is left to tell."""
    plain = _without_possessive(fold(name).strip(_EDGES))
    return plain.rstrip(".'").strip(_EDGES)[:LONGEST_NAME].rstrip()


def fold(text: str) -> str:
    """A text in which two ways of writing the same look the same."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("’", "'")  # noqa: RUF001
    return _printable(text.casefold()).replace(", ", " ")


def _printable(text: str) -> str:
    """One line, one space between words, nothing that cannot be seen or stored."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.split())


def _without_possessive(name: str) -> str:
    return name[:-2] if name.endswith(("'s", "’s")) else name  # noqa: RUF001
