"""Copies answer for themselves; one whose original does not come to its end is carried, or says what it waits for."""

import asyncio

from holdfast.errors import CorruptInput
from tests.publish.library import Library

JOBS = "select id from holdfast.pipeline_job where document_id = $1 order by id"
CANCEL = "select result from holdfast.cancel(array[$1::bigint])"
NEXT = """
select holdfast.overview_next(j) from holdfast.pipeline_job j where document_id = $1 order by id desc limit 1
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
    assert await library.answers() == [("apples", "b.txt"), ("apples", "c.txt")]
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
    archive = await library.add("archive one", "z.zip")
    await library.add("apples", "z.zip!/a.txt", parent=archive)
    newer = await library.take_in("archive two", "z.zip")
    await asyncio.gather(library.finish(newer), library.take_in("apples", "b.txt"))
    assert await library.answers() == [("apples", "b.txt"), ("archive two", "z.zip")]


async def test_copies_answer_under_their_own_names_with_what_phases_found_out(library: Library) -> None:
    original = await library.take_in("apples", "a.txt", said={"team": "a", "case": 17})
    early = await library.take_in("apples", "b.txt", said={"team": "b", "mood": "said, not found"})
    await library.finish(original, found_out={"extracted": {"pages": 3}, "mood": "calm"})
    late = await library.take_in("apples", "c.txt")
    found = {"extracted": {"pages": 3}, "mood": "calm"}
    assert await library.answers() == [("apples", "a.txt"), ("apples", "b.txt"), ("apples", "c.txt")]
    assert (await library.document(early))["metadata"] == {"at": "b.txt", "team": "b", **found}
    assert (await library.document(late))["metadata"] == {"at": "c.txt", **found}
