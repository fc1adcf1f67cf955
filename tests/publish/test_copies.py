"""Copies of content whose own document does not come to its end: each is carried, or says what it waits for."""

import asyncio

from holdfast.errors import CorruptInput
from tests.engine.scenario import until_someone_waits_for_a_lock
from tests.publish.library import Library

JOBS = "select id from holdfast.pipeline_job where document_id = $1 order by id"
CANCEL = "select result from holdfast.cancel(array[$1::bigint])"
NEXT = """
select holdfast.overview_next(j) from holdfast.pipeline_job j where document_id = $1 order by id desc limit 1
"""
COPIES_OF_REPLACED = """
select c.id from holdfast.document c join holdfast.document d on d.id = c.duplicate_of
where d.superseded_at is not null and c.superseded_at is null and c.deleted_at is null
"""


async def cancel(library: Library, document: int) -> None:
    job = await library.database.fetchval(JOBS, document)
    assert await library.database.fetchval(CANCEL, job) == "cancelled"


async def test_copy_of_a_cancelled_document_is_carried_in_its_stead(library: Library) -> None:
    original = await library.take_in("apples", "a.txt")
    copy, other = await library.take_in("apples", "b.txt"), await library.take_in("apples", "c.txt")
    await cancel(library, original)
    assert [(await library.document(one))["duplicate_of"] for one in (original, copy, other)] == [None, None, copy]
    await library.finish(copy)
    assert await library.answers() == [("apples", "b.txt")]
    assert await library.database.fetchval(NEXT, other) == f"nothing: document {copy} has the same content"
    assert (await library.document(copy))["metadata"] == {"at": "b.txt"}


async def test_cancelling_all_of_them_leaves_nothing_to_do(library: Library) -> None:
    original, copy = await library.take_in("apples", "a.txt"), await library.take_in("apples", "b.txt")
    await cancel(library, original)
    (_, job) = await library.database.fetch(JOBS, copy)
    assert await library.database.fetchval(CANCEL, job["id"]) == "cancelled"
    assert await library.scenario.states() == {"cancelled": 2, "done": 1}


async def test_copy_says_that_its_original_failed(library: Library) -> None:
    original, copy = await library.take_in("apples", "a.txt"), await library.take_in("apples", "b.txt")
    job = await library.database.fetchval(JOBS, original)
    assert await library.database.fetchval(NEXT, copy) == (
        f"nothing: it is done when document {original} is, which has the same content"
    )
    await library.scenario.fail_once("publish", CorruptInput("no apples"))
    assert await library.database.fetchval(NEXT, copy) == (
        f"document {original}, which has the same content, failed: see what job {job} needs"
    )


async def test_content_of_a_cancelled_job_is_its_next_documents(library: Library) -> None:
    cancelled = await library.take_in("apples", "a.txt")
    await cancel(library, cancelled)
    again = await library.take_in("apples", "b.txt", said={"from": "Ines"})
    document = await library.document(again)
    assert again != cancelled
    assert (document["source_location"], document["metadata"]) == ("b.txt", {"at": "b.txt", "from": "Ines"})
    await library.finish(again)
    assert await library.answers() == [("apples", "b.txt")]


async def test_copy_that_comes_while_its_original_is_dropped_from_an_archive_answers(library: Library) -> None:
    database = library.database
    archive = await library.add("archive one", "z.zip")
    await library.add("apples", "z.zip!/a.txt", parent=archive)
    newer = await library.take_in("archive two", "z.zip")
    async with database.transaction() as submitting:
        copying = Library(library.scenario, names=library.names)
        made = await submitting.fetchrow(
            "select document_id, result from holdfast.submit('documents', $1)",
            [
                {
                    "organisation": "acme",
                    "content_hash": next(key for key, name in copying.names.items() if name == "apples"),
                    "source_platform": "folder",
                    "source_location": "b.txt",
                }
            ],
        )
        assert made["result"] == "duplicate"
        finishing = asyncio.create_task(library.finish(newer))
        await until_someone_waits_for_a_lock(database)
    await finishing
    await database.execute("select holdfast.publish_document($1)", made["document_id"])
    assert await database.fetch(COPIES_OF_REPLACED) == []
    assert ("apples", "b.txt") in await library.answers()
