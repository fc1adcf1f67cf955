"""What came out of a document, such as an archive's members, lives and goes with the version it came out of."""

import pytest

from tests.publish.library import Library


async def unpacked(library: Library, name: str, members: list[str]) -> tuple[int, list[int]]:
    """An archive at z.zip with its members, all taken in and none finished."""
    archive = await library.take_in(name, "z.zip")
    return archive, [await library.take_in(member, parent=archive) for member in members]


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
    assert (await library.document(apples))["parent_id"] == new


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
