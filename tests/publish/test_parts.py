"""What came out of a document, such as an archive's members, lives and goes with the version it came out of."""

import pytest

from tests.publish.library import Library

OLD = [("apples", "z.zip!/a"), ("old", "z.zip"), ("pears", "z.zip!/b")]


async def unpacked(library: Library, name: str, members: list[str]) -> tuple[int, list[int]]:
    """An archive at z.zip with its members, all taken in and none finished."""
    archive = await library.take_in(name, "z.zip")
    return archive, [await library.take_in(member, parent=archive) for member in members]


async def replaced_in_part(library: Library) -> tuple[int, int]:
    """z.zip answers with apples at a, pears at b; its new version has apples and plums. Gives that and its b."""
    old = await library.take_in("old", "z.zip")
    for content, name in (("apples", "a"), ("pears", "b")):
        await library.add(content, f"z.zip!/{name}", parent=old)
    await library.finish(old)
    new = await library.take_in("new", "z.zip")
    await library.take_in("apples", "z.zip!/a", parent=new)
    return new, await library.take_in("plums", "z.zip!/b", parent=new)


async def finish_all(library: Library, *documents: int) -> None:
    for document in documents:
        row = await library.document(document)
        if row["duplicate_of"] is None:
            await library.finish(document)


async def test_members_of_a_replaced_archive_go_with_it(library: Library) -> None:
    old, members = await unpacked(library, "old", ["apples", "pears"])
    await finish_all(library, old, *members)
    new, members = await unpacked(library, "new", ["plums"])
    await finish_all(library, *members, new)
    assert await library.answers() == [("new", "z.zip"), ("plums", None)]


async def test_an_unchanged_member_goes_on_answering_under_the_new_archive(library: Library) -> None:
    old, (apples, pears) = await unpacked(library, "old", ["apples", "pears"])
    await finish_all(library, old, apples, pears)
    new, members = await unpacked(library, "new", ["apples", "plums"])
    await finish_all(library, *members, new)
    assert await library.answers() == [("apples", None), ("new", "z.zip"), ("plums", None)]
    assert (await library.document(apples))["parent_id"] == old, "nothing is moved"


async def test_a_member_that_is_twice_in_the_old_archive_goes_too(library: Library) -> None:
    old, members = await unpacked(library, "old", ["apples", "apples"])
    await finish_all(library, old, *members)
    await library.add("new", "z.zip")
    assert await library.answers() == [("new", "z.zip")]


async def test_members_of_members_go_too(library: Library) -> None:
    old, (inner,) = await unpacked(library, "old", ["inner"])
    deepest = await library.take_in("apples", parent=inner)
    await finish_all(library, old, inner, deepest)
    await library.add("new", "z.zip")
    assert await library.answers() == [("new", "z.zip")]


@pytest.mark.parametrize("depth", [1, 2])
async def test_a_member_finished_after_its_archive_was_replaced_never_answers(library: Library, depth: int) -> None:
    old, (inner,) = await unpacked(library, "old", ["inner"])
    late = await library.take_in("apples", parent=old if depth == 1 else inner)
    await library.finish(old)
    await library.add("new", "z.zip")
    await library.finish(late)
    assert await library.answers() == [("new", "z.zip")]


@pytest.mark.parametrize("depth", [1, 2])
async def test_a_member_taken_in_after_its_archive_was_replaced_never_answers(library: Library, depth: int) -> None:
    old, (inner,) = await unpacked(library, "old", ["inner"])
    await library.add("new", "z.zip")
    late = await library.take_in("apples", parent=old if depth == 1 else inner)
    await library.finish(late)
    assert await library.answers() == [("new", "z.zip")]


async def test_an_archive_that_stands_elsewhere_too_keeps_its_members(library: Library) -> None:
    archive, members = await unpacked(library, "old", ["apples"])
    await finish_all(library, archive, *members)
    await library.take_in("old", "copy.zip")
    await library.add("new", "z.zip")
    assert await library.answers() == [("apples", None), ("new", "z.zip"), ("old", "copy.zip")]


async def test_a_member_that_stands_elsewhere_as_a_file_outlives_its_archive(library: Library) -> None:
    archive, members = await unpacked(library, "old", ["apples"])
    await finish_all(library, archive, *members)
    await library.take_in("apples", "apples.txt")
    await library.add("new", "z.zip")
    assert await library.answers() == [("apples", "apples.txt"), ("new", "z.zip")]


async def test_a_new_version_shows_nothing_until_it_is_whole(library: Library) -> None:
    new, plums = await replaced_in_part(library)
    await library.finish(plums)
    assert await library.answers() == OLD
    await library.finish(new)
    assert await library.answers() == [("apples", "z.zip!/a"), ("new", "z.zip"), ("plums", "z.zip!/b")]


async def test_a_cancelled_new_version_leaves_the_old_one_as_it_was(library: Library) -> None:
    new, plums = await replaced_in_part(library)
    await library.finish(plums)
    await library.database.execute(
        "select holdfast.cancel(array(select id from holdfast.pipeline_job where document_id = $1))", new
    )
    assert await library.answers() == OLD


async def test_a_deleted_new_version_leaves_the_old_one_as_it_was(library: Library) -> None:
    new, plums = await replaced_in_part(library)
    await library.finish(plums)
    await library.database.fetchval("select holdfast.delete_document($1, 'ann')", new)
    assert await library.answers() == OLD


async def test_where_a_member_failed_the_old_one_answers_until_it_is_mended(library: Library) -> None:
    new, plums = await replaced_in_part(library)
    await library.fail(plums)
    await library.finish(new)
    assert await library.answers() == [("apples", "z.zip!/a"), ("new", "z.zip"), ("pears", "z.zip!/b")]
    await library.database.execute("select holdfast.retry(array[$1::bigint])", await library.job(plums))
    await library.finish(plums)
    assert await library.answers() == [("apples", "z.zip!/a"), ("new", "z.zip"), ("plums", "z.zip!/b")]


async def test_what_stands_in_for_a_failed_member_goes_with_the_next_version(library: Library) -> None:
    new, plums = await replaced_in_part(library)
    await library.fail(plums)
    await library.finish(new)
    await library.add("newest", "z.zip")
    assert await library.answers() == [("newest", "z.zip")]


async def test_first_version_shows_its_members_as_they_are_finished(library: Library) -> None:
    _, (apples, _) = await unpacked(library, "new", ["apples", "pears"])
    await library.finish(apples)
    assert await library.answers() == [("apples", None)]


async def test_inner_archive_that_did_not_change_keeps_its_members(library: Library) -> None:
    old = await library.take_in("old", "z.zip")
    inner = await library.add("inner", "z.zip!/i.zip", parent=old)
    await library.add("apples", "z.zip!/i.zip!/a", parent=inner)
    await library.finish(old)
    new = await library.take_in("new", "z.zip")
    await library.take_in("inner", "z.zip!/i.zip", parent=new)
    await library.finish(new)
    assert await library.answers() == [("apples", "z.zip!/i.zip!/a"), ("inner", "z.zip!/i.zip"), ("new", "z.zip")]
