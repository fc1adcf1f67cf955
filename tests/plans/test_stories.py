"""Stories cost no more to tell, to count and to take away, however many there are."""

import json
from collections.abc import AsyncIterator
from contextlib import suppress

import asyncpg
import pytest

from tests.plans.cost import CALLS_UNTIL_PLANS_ARE_CACHED, keep_from_the_planner, rows_read

STORIES = 20_000
MOST_ROWS = 100  # one story's rows, or twenty names; a scan of any of the tables reads thousands
TOLD = json.dumps(
    {
        "summary_neutral": "n",
        "summary_spicy": "s",
        "category": "other",
        "severity": 1,
        "top_entities": [],
        "entity_counter": {"Actor 7": 2, "Nobody yet": 1},
        "model": "m",
    }
)
TABLES = ("document", "story", "story_entity", "story_entity_total")
STATEMENTS = (
    "select * from holdfast.story_entities('acme', 20)",
    "select * from holdfast.story_of(7)",
    f"select holdfast.store_story(7, '{TOLD}')",
    "select holdfast.remove_story(8)",
)
HISTORY = f"""
insert into holdfast.document (organisation, source_name, source_platform, source_location, created_at)
select 'acme', n || '.json', 'upload', 'articles/' || n, now() from generate_series(1, {STORIES}) n;
insert into holdfast.story (document_id, organisation, source_platform, source_location, summary_neutral, summary_spicy,
                            category, severity, top_entities, entity_counter, model, told_at)
select id, organisation, source_platform, source_location, 'n', 's', 'other', 1, '{{}}',
       jsonb_build_object('Actor ' || id, 1), 'm', now()
from holdfast.document;
insert into holdfast.story_entity (document_id, normalised_name, organisation, name, mentions)
select document_id, 'actor ' || document_id, organisation, 'Actor ' || document_id, 1 from holdfast.story;
insert into holdfast.story_entity_total (organisation, normalised_name, name, stories, mentions)
select organisation, normalised_name, name, 1, mentions from holdfast.story_entity;
"""


@pytest.fixture
async def history(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """So many stories, in the session of someone who made their plans while there were none."""
    connection = await asyncpg.connect(dsn)
    await keep_from_the_planner(connection, TABLES)
    for _ in range(CALLS_UNTIL_PLANS_ARE_CACHED):
        for statement in STATEMENTS:
            with suppress(asyncpg.PostgresError):  # the documents are not there yet
                await connection.fetch(statement)
    await connection.execute(HISTORY)
    yield connection
    await connection.close()


async def test_cost_does_not_grow_with_the_stories(history: asyncpg.Connection) -> None:
    rows = {statement: await rows_read(history, statement) for statement in STATEMENTS}
    assert max(rows.values()) < MOST_ROWS, rows
    assert await rows_read(history, "select count(model) from holdfast.story") > MOST_ROWS
