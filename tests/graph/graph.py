"""A graph in a test: documents that add to it, and looks at what is in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.strict_json import dump
from holdfast.graph.contribution import MENTIONED_WITH, Contribution, Entity, Relation, entity
from tests.engine.scenario import Scenario, begin, plain

ADD = "select holdfast.add_to_graph($1, $2, $3::text::jsonb)"
PUBLISH = "select holdfast.publish_document($1, holdfast.generation_of($1))"


def thing(name: str, kind: str = "name", count: int = 1) -> Entity:
    one = entity(kind, name, count)
    assert one is not None
    return one


def chunk(ordinal: int, *things: Entity | str, facts: Sequence[tuple[int, str, int]] = ()) -> Contribution:
    """A chunk that mentions these, each two of them side by side, or in these relations."""
    entities = tuple(one if isinstance(one, Entity) else thing(one) for one in things)
    places = sorted(range(len(entities)), key=lambda place: entities[place].key)
    pairs = [(first, MENTIONED_WITH, second) for n, first in enumerate(places) for second in places[n + 1 :]]
    relations = tuple(Relation(*fact, 0.5) for fact in facts or pairs)
    return Contribution(ordinal, "model-1" if facts else "mentions", entities, relations)


def items(*chunks: Contribution) -> str:
    """As add_to_graph takes them."""
    return dump([one.to_json() for one in chunks]).decode()


@dataclass(frozen=True, slots=True)
class Graph:
    """The documents of a test and what they added."""

    scenario: Scenario

    @classmethod
    async def begin(cls, database: Database) -> Self:
        return cls(await begin(database, plain("graph_add", "publish")))

    @property
    def database(self) -> Database:
        return self.scenario.database

    async def claim(self, organisation: str = "acme") -> Attempt:
        """A new document's job, claimed."""
        await self.scenario.submit_one(organisation=organisation)
        return await self.scenario.claim_one("graph_add")

    async def add(self, attempt: Attempt, *chunks: Contribution) -> None:
        await self.database.execute(ADD, attempt.job_id, attempt.token, items(*chunks))

    async def document(self, *chunks: Contribution, organisation: str = "acme", searchable: bool = True) -> int:
        """A document that adds these chunks."""
        attempt = await self.claim(organisation)
        await self.add(attempt, *chunks)
        if searchable:
            await self.database.execute(PUBLISH, attempt.document.id)
        return attempt.document.id

    async def remove(self, document_id: int) -> dict[str, int]:
        counts: dict[str, int] = await self.database.fetchval(
            "select holdfast.remove_part_from_graph(holdfast.generation_of($1), null)", document_id
        )
        return counts

    async def names(self, organisation: str = "acme") -> list[str]:
        """Every entity by kind and name, as they are shown."""
        rows = await self.database.fetch(
            "select kind, name from holdfast.entity where organisation = $1 order by kind, normalised_name",
            organisation,
        )
        return [f"{row['kind']} {row['name']}" for row in rows]

    async def everything(self) -> dict[str, list[tuple[Any, ...]]]:
        """All rows by what they say: ids of entities are spelt as their names."""
        mentions = """
            select e.organisation, e.kind, e.normalised_name, m.generation_id, m.ordinal, m.count
            from holdfast.entity e left join holdfast.entity_mention m on m.entity_id = e.id order by 1, 2, 3, 4, 5
        """
        relations = """
            select r.generation_id, r.ordinal, s.normalised_name, r.predicate, o.normalised_name, r.maker, r.confidence
            from holdfast.relation r
            left join holdfast.entity s on s.id = r.subject_id left join holdfast.entity o on o.id = r.object_id
            order by 1, 2, 3, 4, 5
        """
        return {
            "mentions": [tuple(row) for row in await self.database.fetch(mentions)],
            "relations": [tuple(row) for row in await self.database.fetch(relations)],
        }
