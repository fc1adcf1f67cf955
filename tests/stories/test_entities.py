"""What all stories of an organisation speak of: each story counts once, as long as it is there and the newest."""

import asyncio
import json

import pytest

from holdfast.errors import NotFound
from tests.stories.newsroom import TOLD, Newsroom

COUNTED = {"Harbour Office": (1, 2), "tidal gate": (1, 1)}


async def test_entities_are_merged_over_stories_whatever_their_case(room: Newsroom) -> None:
    await room.take_in()
    await room.work()
    other = {**TOLD, "entity_counter": [{"name": "HARBOUR  OFFICE", "count": 5}, {"name": "Kelp Point", "count": 1}]}
    room.provider.says = lambda _: json.dumps(other)
    await room.take_in({"text": "More of the office."})
    await room.work()
    assert await room.entities() == {"Harbour Office": (2, 7), "Kelp Point": (1, 1), "tidal gate": (1, 1)}
    assert await room.entities("other") == {}


async def test_story_told_again_counts_once(room: Newsroom) -> None:
    taken = await room.take_in()
    await room.work()
    again = await room.again(taken.document_id or 0)
    await room.work()
    assert (await room.job(again.job_id))["state"] == "done"
    assert await room.entities() == COUNTED


async def test_newer_version_of_an_article_counts_instead_of_the_older(room: Newsroom) -> None:
    await room.take_in(location="gate.json")
    await room.work()
    room.provider.says = lambda _: json.dumps({**TOLD, "entity_counter": [{"name": "Kelp Point", "count": 4}]})
    newer = await room.take_in({"text": "It closed again."}, location="gate.json")
    await room.work()
    assert await room.entities() == {"Kelp Point": (1, 4)}
    older = await room.app.database.fetchval("select min(document_id) from holdfast.story")
    again = await room.again(older)
    await room.work()
    assert (await room.job(again.job_id))["state"] == "done"
    assert older < (newer.document_id or 0)
    assert await room.entities() == {"Kelp Point": (1, 4)}


async def test_removed_article_takes_its_story_and_its_counts_along(room: Newsroom) -> None:
    kept, gone = await room.take_in({"text": "One."}), await room.take_in({"text": "Two."})
    await room.work()
    receipt = await room.app.delete(gone.document_id or 0, actor="tester")
    assert receipt.stories == 1
    assert await room.entities() == COUNTED
    with pytest.raises(NotFound):
        await room.app.story(gone.document_id or 0)
    assert (await room.app.delete(kept.document_id or 0, actor="tester")).stories == 1
    assert await room.entities() == {}
    assert await room.app.database.fetchval("select count(*) from holdfast.story_entity_total") == 0


async def test_many_stories_told_and_removed_at_once_add_up(room: Newsroom) -> None:
    taken = [await room.take_in({"text": f"Article {n}."}) for n in range(12)]
    await asyncio.gather(room.work(), room.work())
    assert await room.entities() == {"Harbour Office": (12, 24), "tidal gate": (12, 12)}
    await asyncio.gather(*(room.app.delete(one.document_id or 0, actor="tester") for one in taken[:8]))
    assert await room.entities() == {"Harbour Office": (4, 8), "tidal gate": (4, 4)}
