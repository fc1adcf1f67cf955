"""What removing and publishing cost does not grow with what is stored."""

import json

from holdfast.db.connection import Database
from tests.publish.library import Library, open_library

STORED = """
with made as (
    insert into holdfast.document (organisation, source_name, source_platform, source_location, content_hash,
                                   created_at, searchable_at, metadata)
    select 'acme', 'stored', 'folder', 'stored ' || n, 'stored ' || n, now(), now(), jsonb_build_object('n', n)
    from generate_series(1, $1::integer) as n
    returning id
), jobs as (
    insert into holdfast.pipeline_job (document_id, organisation, pipeline, phase, status, state, vtime, submitted_at)
    select id, 'acme', 'documents', 'publish', 'publish_done', 'done', 0, now() from made
), artifacts as (
    insert into holdfast.artifact (organisation, hash, size, stored_at)
    select 'acme', lpad(to_hex(id), 64, '0'), 1, now() from made
    returning hash
), errors as (
    insert into holdfast.error_log (at, organisation, document_id, category, message, fingerprint)
    select now(), 'acme', id, 'unknown', 'stored', 'same' from made
)
select count(*) from made cross join lateral (select 1) one
"""
USES = """
insert into holdfast.artifact_use (document_id, kind, organisation, hash, used_at)
select id, 'text', 'acme', lpad(to_hex(id), 64, '0'), now() from holdfast.document where source_name = 'stored'
"""


async def pages(library: Library, statement: str) -> int:
    """How many pages the statement touches."""
    async with library.database.transaction() as connection:
        plan = await connection.fetchval(f"explain (analyze, buffers, format json) {statement}")
    top = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])


async def least_cost(library: Library, name: str) -> list[int]:
    """Of several lives: the first one plans, and whenever statistics are gathered the next one plans again."""
    lives = [await cost_of_one_life(library, f"{name} {n}") for n in range(4)]
    return [min(pages) for pages in zip(*lives, strict=True)]


async def cost_of_one_life(library: Library, n: str) -> list[int]:
    """Pages for publishing a second version of a location, and for deleting it."""
    await library.add(f"old {n}", f"{n}.txt")
    new = await library.take_in(f"new {n}", f"{n}.txt")
    publishing = await pages(library, f"select holdfast.publish_document({new})")
    return [publishing, await pages(library, f"select holdfast.delete_document({new}, 'ann')")]


async def test_publishing_and_deleting_cost_the_same_among_thousands(database: Database) -> None:
    library = await open_library(database)
    few = await least_cost(library, "few")
    await database.execute(STORED, 10_000)
    await database.execute(USES)
    await database.execute("analyze")
    many = await least_cost(library, "many")
    assert [after < before + 60 for before, after in zip(few, many, strict=True)] == [True, True], (few, many)
