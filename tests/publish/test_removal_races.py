"""Deleting what others submit or retry in the same moment: nothing accepted is lost, nothing deleted runs."""

import asyncio
from typing import Any

import pytest

from holdfast.db.connection import Database
from holdfast.engine.queue import Submission, submit
from holdfast.errors import NotFound
from tests.engine.scenario import until_someone_waits_for_a_lock
from tests.publish.library import Library

DELETE = "select holdfast.delete_document($1, 'ann')"
RETRY = "select result from holdfast.retry(array[$1::bigint])"
LIVE_ON_DELETED = """
select j.id from holdfast.pipeline_job j join holdfast.document d on d.id = j.document_id
where d.deleted_at is not null and j.state not in ('done', 'deadletter', 'cancelled')
"""
LIVE_UNDER_DELETED = """
select c.id from holdfast.document c join holdfast.document d on d.id = c.parent_id
where d.deleted_at is not null and c.deleted_at is null
"""
COPIES_OF_DELETED = """
select c.id from holdfast.document c join holdfast.document d on d.id = c.duplicate_of
where d.deleted_at is not null and c.deleted_at is null
"""


async def until_done_or_in_line(database: Database, task: "asyncio.Task[Any]", waiting: int) -> None:
    """Come back when the task is done, or when it waits for a lock as the last of so many."""
    blocked = asyncio.create_task(until_someone_waits_for_a_lock(database, waiting))
    await asyncio.wait({task, blocked}, return_when=asyncio.FIRST_COMPLETED)
    blocked.cancel()


async def test_job_that_is_retried_while_its_document_is_deleted_does_not_run(library: Library) -> None:
    database = library.database
    document = await library.take_in("apples", "a.txt")
    job = await database.fetchval("select id from holdfast.pipeline_job")
    await database.execute("select holdfast.cancel(array[$1::bigint])", job)
    async with database.transaction() as other:
        await other.execute("select from holdfast.document where id = $1 for update", document)
        deleting = asyncio.create_task(database.execute(DELETE, document))
        await until_someone_waits_for_a_lock(database)
        retrying = asyncio.create_task(database.fetchval(RETRY, job))
        await until_done_or_in_line(database, retrying, 2)
    await deleting
    assert await retrying == "document_was_deleted"
    assert await database.fetch(LIVE_ON_DELETED) == []


async def test_job_that_is_retried_before_its_document_is_locked_is_cancelled(library: Library) -> None:
    database = library.database
    document = await library.take_in("apples", "a.txt")
    job = await database.fetchval("select id from holdfast.pipeline_job")
    await database.execute("select holdfast.cancel(array[$1::bigint])", job)
    async with database.transaction() as retrying:
        assert await retrying.fetchval(RETRY, job) == "queued"
        deleting = asyncio.create_task(database.execute(DELETE, document))
        await until_someone_waits_for_a_lock(database)
    await deleting
    assert await database.fetch(LIVE_ON_DELETED) == []


async def test_copy_that_comes_while_its_original_is_deleted_goes_with_it_or_runs(library: Library) -> None:
    database = library.database
    document = await library.take_in("apples", "a.txt")
    async with database.transaction() as other:
        await other.execute("select from holdfast.pipeline_job for update")
        deleting = asyncio.create_task(database.execute(DELETE, document))
        await until_someone_waits_for_a_lock(database)
        coming = asyncio.create_task(library.take_in("apples", "b.txt"))
        await until_done_or_in_line(database, coming, 2)
    await asyncio.gather(deleting, coming)
    assert await database.fetch(COPIES_OF_DELETED) == []
    assert await database.fetch(LIVE_ON_DELETED) == []


async def test_part_that_comes_elsewhere_while_its_archive_is_deleted_answers_there(library: Library) -> None:
    database = library.database
    archive = await library.add("archive", "z.zip")
    await library.add("apples", parent=archive)
    async with database.transaction() as other:
        await other.execute("select from holdfast.document where id = $1 for update", archive)
        deleting = asyncio.create_task(database.execute(DELETE, archive))
        await until_someone_waits_for_a_lock(database)
        coming = asyncio.create_task(library.take_in("apples", "apples.txt"))
        await until_done_or_in_line(database, coming, 2)
    await asyncio.gather(deleting, coming)
    assert await database.fetch(COPIES_OF_DELETED) == []
    assert await library.answers() == [("apples", "apples.txt")]


async def test_deleting_two_documents_of_one_content_in_opposite_order(library: Library) -> None:
    """Each is deleted by someone else, and the original takes its copy with it."""
    database = library.database
    original = await library.add("apples", "a.txt")
    copy = await library.take_in("apples", "b.txt")
    results = await asyncio.gather(*(database.execute(DELETE, one) for one in (copy, original)), return_exceptions=True)
    assert not isinstance(results[1], Exception)
    assert await library.answers() == []


async def test_member_is_refused_whose_archive_is_being_deleted(library: Library) -> None:
    database = library.database
    archive = await library.take_in("archive", "a.zip")
    async with database.transaction() as deleting:
        await deleting.execute(DELETE, archive)
        coming = asyncio.create_task(library.take_in("member", "m.txt", parent=archive))
        await until_done_or_in_line(database, coming, 1)
    with pytest.raises(NotFound, match=f"no document {archive}"):
        await coming
    assert await database.fetch(LIVE_UNDER_DELETED) == []


async def test_member_that_comes_before_its_archive_is_deleted_goes_with_it(library: Library) -> None:
    database = library.database
    archive = await library.take_in("archive", "a.zip")
    member = Submission(organisation="acme", source_name="m.txt", parent_id=archive)
    async with database.transaction() as coming:
        await submit(coming, "documents", [member])
        deleting = asyncio.create_task(database.execute(DELETE, archive))
        await until_done_or_in_line(database, deleting, 1)
    await deleting
    assert await database.fetch(LIVE_UNDER_DELETED) == []
