"""The extractor without a model: names, forms and key phrases as they stand, and what stands beside them.

It finds mentions, never facts: that two names stand in one passage is all it says about them.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import combinations
from operator import attrgetter

from holdfast.engine.attempt import Attempt
from holdfast.graph.contribution import (
    MENTIONED_WITH,
    PHRASE,
    Contribution,
    Entity,
    Findings,
    Passage,
    Relation,
    entity,
)
from holdfast.graph.names import find_names
from holdfast.graph.patterns import take_out
from holdfast.graph.phrases import find_phrases

MAKER = "mentions"
CONFIDENCE = 0.3
MOST_ENTITIES = 40
MOST_PHRASES = 5
# Each pair of the most mentioned: the number grows with the square.
MOST_PAIRED = 6
# What says little by itself.
WEAK = frozenset({"date", "money", PHRASE})


class MentionExtractor:
    """Reads each passage by rules. Deterministic, and its time grows with the length of the text only."""

    name = MAKER

    async def find(self, attempt: Attempt, passages: Sequence[Passage]) -> Findings:
        """In a thread: a batch of passages takes longer than an event loop should wait."""
        return Findings(await asyncio.to_thread(lambda: tuple(read(passage) for passage in passages)))

    def estimate_usd(self, passages: int, characters: int) -> Decimal:
        """Nothing: nobody is asked."""
        return Decimal(0)


def read(passage: Passage) -> Contribution:
    """All that one passage mentions."""
    forms, text = take_out(passage.text)
    names = find_names(text)
    found = [*((kind, name) for kind, name, _ in names), *forms]
    rest = _without(text, ((start, start + len(name)) for _, name, start in names))
    told = sorted(_merged(Counter(found).items())[:MOST_ENTITIES], key=_is_weak)
    phrases = _merged(((PHRASE, phrase), count) for phrase, count in find_phrases(rest, MOST_PHRASES))
    entities = (*told, *phrases)
    return Contribution(passage.ordinal, MAKER, entities, _side_by_side(entities[:MOST_PAIRED]))


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    pieces, at = [], 0
    for start, end in spans:
        pieces.append(text[at:start])
        at = end
    return "|".join([*pieces, text[at:]])


def _merged(counts: Iterable[tuple[tuple[str, str], int]]) -> list[Entity]:
    """Each once however it is written, the most mentioned first, then as they come."""
    merged: dict[tuple[str, str], Entity] = {}
    for (kind, name), count in counts:
        one = entity(kind, name, count)
        if one is not None:
            key = one.key
            merged[key] = merged[key].again(count) if key in merged else one
    return sorted(merged.values(), key=attrgetter("count"), reverse=True)


def _is_weak(one: Entity) -> bool:
    return one.kind in WEAK


def _side_by_side(entities: Sequence[Entity]) -> tuple[Relation, ...]:
    """Every two of them, in an order that is the same in every passage: neither comes before the other.

    Where something has a name, two others that have none are not worth a relation.
    """
    places = sorted(range(len(entities)), key=lambda place: entities[place].key)
    named = {place for place in places if not _is_weak(entities[place])} or set(places)
    return tuple(
        Relation(first, MENTIONED_WITH, second, CONFIDENCE)
        for first, second in combinations(places, 2)
        if first in named or second in named
    )
