"""Which version of a location answers: the newest that is finished, and each content once."""

import asyncio

import pytest

from holdfast.db.connection import connect
from holdfast.errors import CorruptInput, NotFound
from holdfast.settings import Settings
from tests.publish.library import Library, open_library


async def test_a_finished_document_answers(library: Library) -> None:
    document = await library.take_in("apples", "a.txt")
    assert await library.answers() == []
    await library.finish(document)
    assert await library.answers() == [("apples", "a.txt")]


async def test_the_old_version_answers_until_the_new_one_is_finished(library: Library) -> None:
    old = await library.add("apples", "a.txt")
    new = await library.take_in("pears", "a.txt")
    assert await library.answers() == [("apples", "a.txt")]
    await library.finish(new)
    assert await library.answers() == [("pears", "a.txt")]
    assert (await library.document(old))["superseded_by"] == new


async def test_documents_without_a_location_replace_nothing(library: Library) -> None:
    await library.add("apples")
    await library.add("pears")
    assert await library.answers() == [("apples", None), ("pears", None)]


async def test_locations_of_other_platforms_and_organisations_are_others(library: Library) -> None:
    await library.add("apples", "a.txt")
    await library.database.execute("update holdfast.document set source_platform = 'drive'")
    await library.add("pears", "a.txt")
    assert await library.answers() == [("apples", "a.txt"), ("pears", "a.txt")]


async def test_a_version_finished_after_a_newer_one_never_answers(library: Library) -> None:
    older = await library.take_in("apples", "a.txt")
    newer = await library.take_in("pears", "a.txt")
    await library.finish(newer)
    await library.finish(older)
    assert await library.answers() == [("pears", "a.txt")]
    assert (await library.document(older))["superseded_by"] == newer


async def test_publishing_again_changes_nothing(library: Library) -> None:
    await library.add("apples", "a.txt")
    document = await library.add("pears", "a.txt")
    before = await library.document(document)
    await library.database.execute("select holdfast.publish_document($1)", document)
    assert await library.document(document) == before


async def test_a_document_that_is_not_there_is_not_found(library: Library) -> None:
    with pytest.raises(NotFound):
        await library.database.execute("select holdfast.publish_document(4711)")


async def test_content_that_is_still_current_elsewhere_goes_on_answering_there(library: Library) -> None:
    original = await library.add("apples", "a.txt")
    copy = await library.take_in("apples", "b.txt")
    newer = await library.add("pears", "a.txt")
    assert await library.answers() == [("apples", "b.txt"), ("pears", "a.txt")]
    replaced, answering = await library.document(original), await library.document(copy)
    assert (replaced["source_location"], replaced["superseded_by"]) == ("a.txt", newer)
    assert (answering["source_name"], answering["metadata"]) == ("apples at b.txt", {"at": "b.txt"})


async def test_what_was_said_before_is_merged_when_the_same_content_comes_back(library: Library) -> None:
    original = await library.take_in("apples", "a.txt", said={"team": "a", "year": 1})
    await library.finish(original, found_out={"extracted": {"pages": 3}})
    await library.take_in("pears", "a.txt")
    again = await library.take_in("apples", "a.txt", said={"year": 2})
    assert (await library.document(again))["metadata"] == {
        "at": "a.txt",
        "team": "a",
        "year": 2,
        "extracted": {"pages": 3},
    }


async def test_content_is_replaced_at_each_of_its_places(library: Library) -> None:
    await library.add("apples", "a.txt")
    await library.take_in("apples", "b.txt")
    await library.add("pears", "a.txt")
    await library.add("plums", "b.txt")
    assert await library.answers() == [("pears", "a.txt"), ("plums", "b.txt")]


async def test_content_kept_without_a_location_goes_on_answering(library: Library) -> None:
    await library.add("apples", "a.txt")
    await library.take_in("apples")
    await library.add("pears", "a.txt")
    assert await library.answers() == [("apples", None), ("pears", "a.txt")]


async def test_known_content_replaces_the_older_version_at_once(library: Library) -> None:
    await library.add("apples", "a.txt")
    await library.add("pears", "b.txt")
    await library.take_in("apples", "b.txt")
    assert await library.answers() == [("apples", "a.txt"), ("apples", "b.txt")]


async def test_known_content_that_is_not_finished_replaces_nothing_yet(library: Library) -> None:
    await library.add("pears", "b.txt")
    apples = await library.take_in("apples", "a.txt")
    await library.take_in("apples", "b.txt")
    assert await library.answers() == [("pears", "b.txt")]
    await library.finish(apples)
    assert await library.answers() == [("apples", "a.txt"), ("apples", "b.txt")]


async def test_the_same_content_again_at_the_same_location_goes_on_answering(library: Library) -> None:
    original = await library.add("apples", "a.txt")
    again = await library.take_in("apples", "a.txt")
    assert await library.answers() == [("apples", "a.txt")]
    assert (await library.document(original))["superseded_by"] == again


async def test_a_change_that_is_taken_back_before_it_is_finished_never_answers(library: Library) -> None:
    await library.add("apples", "a.txt")
    change = await library.take_in("pears", "a.txt")
    await library.take_in("apples", "a.txt")
    await library.finish(change)
    assert await library.answers() == [("apples", "a.txt")]


async def test_content_that_comes_back_after_it_was_replaced_answers_at_once(library: Library) -> None:
    first = await library.add("apples", "a.txt")
    await library.add("pears", "a.txt")
    again = await library.take_in("apples", "a.txt")
    assert (await library.document(again))["duplicate_of"] == first
    assert await library.answers() == [("apples", "a.txt")]


async def test_content_that_comes_back_after_it_failed_and_was_replaced_runs_again(library: Library) -> None:
    failed = await library.take_in("apples", "a.txt")
    await library.scenario.fail_once("publish", CorruptInput("no apples"))
    await library.add("pears", "a.txt")
    again = await library.add("apples", "a.txt")
    assert again != failed
    assert await library.answers() == [("apples", "a.txt")]


async def test_unfinished_content_wanted_elsewhere_outlives_its_location(library: Library) -> None:
    """The copy is newer than what answers at its own location, though the content itself was taken in before that."""
    apples = await library.take_in("apples", "a.txt")
    await library.add("plums", "b.txt")
    await library.take_in("apples", "b.txt")
    await library.add("pears", "a.txt")
    assert await library.answers() == [("pears", "a.txt"), ("plums", "b.txt")]
    await library.finish(apples)
    assert await library.answers() == [("apples", "b.txt"), ("pears", "a.txt")]


async def test_versions_finished_at_the_same_time_leave_the_newest(dsn: str) -> None:
    async with connect(Settings(database_url=dsn, pool_size=8)) as database:
        library = await open_library(database)
        for round_ in range(5):
            versions = [await library.take_in(f"{round_}-{n}", f"{round_}.txt") for n in range(6)]
            claimed = await library.scenario.claim("publish", 1000)
            library.claimed |= {attempt.document.id: attempt for attempt in claimed}
            await asyncio.gather(*(library.finish(version) for version in versions))
        assert await library.answers() == [(f"{round_}-5", f"{round_}.txt") for round_ in range(5)]
