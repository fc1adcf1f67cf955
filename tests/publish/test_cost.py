"""What removing and publishing cost does not grow with what is stored."""

import asyncpg

from holdfast.db.connection import Database
from tests.plans.cost import rows_read
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

CHUNKS = """
with made as (
    insert into holdfast.chunk
        (generation_id, ordinal, organisation, id, start_at, end_at, text, text_hash, configuration, words)
    select j.id, 0, 'acme', lpad(to_hex(j.id), 24, '0'), 0, 1, 'text', 'hash', 'simple', ''
    from holdfast.pipeline_job j join holdfast.document d on d.id = j.document_id and d.source_name = 'stored'
    returning generation_id
)
update holdfast.document d set generation_id = j.id
from made m join holdfast.pipeline_job j on j.id = m.generation_id
where d.id = j.document_id
"""


async def cost_of_one_life(library: Library, dsn: str, name: str) -> list[int]:
    """Rows read for publishing a second version of a location, and for deleting it."""
    await library.add(f"old {name}", f"{name}.txt")
    new = await library.take_in(f"new {name}", f"{name}.txt")
    connection = await asyncpg.connect(dsn)
    try:
        publish = f"select holdfast.publish_document({new}, holdfast.generation_of({new}))"
        publishing = await rows_read(connection, publish)
        await connection.fetch(publish)
        return [publishing, await rows_read(connection, f"select holdfast.delete_document({new}, 'ann')")]
    finally:
        await connection.close()


async def test_publishing_and_deleting_cost_the_same_among_thousands(database: Database, dsn: str) -> None:
    library = await open_library(database)
    few = await cost_of_one_life(library, dsn, "few")
    await database.execute(STORED, 10_000)
    await database.execute(USES)
    await database.execute(CHUNKS)
    await database.execute("analyze")
    many = await cost_of_one_life(library, dsn, "many")
    assert [after < before + 60 for before, after in zip(few, many, strict=True)] == [True, True], (few, many)
