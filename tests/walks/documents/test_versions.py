"""A file changes, changes back and moves: one version answers at any moment, never both, never none."""

import asyncio
from collections.abc import Iterable
from itertools import pairwise

from holdfast.app import App
from holdfast.intake.intake import Result
from tests.walks.documents.ground import (
    COMPLETED_ONCE,
    ORGANISATION,
    Ground,
    attempts,
    take_in,
    until,
    work,
    work_until,
)

OLD = "The keeper of the lighthouse feeds the heron at noon."
NEW = "The keeper of the lighthouse feeds the cormorant at noon."
WAITS_TO_PUBLISH = "select exists (select from holdfast.pipeline_job where phase = 'publish' and state <> 'done')"


async def test_old_version_answers_until_the_new_one_is_complete(ground: Ground) -> None:
    path = ground.library / "keeper.txt"
    path.write_text(OLD)
    async with ground.opened() as app:
        old = (await take_in(app, path))[0].document_id
        await work(app)
        path.write_text(NEW)
        hold = await app.control("an operator").hold({"pipeline": "documents", "phase": "publish"})
        new = (await take_in(app, path))[0].document_id

        async def waits_to_publish() -> bool:
            return bool(await app.database.fetchval(WAITS_TO_PUBLISH))

        await work_until(app, waits_to_publish)
        answers = [await _answering(app)]
        assert answers == [[old]]
        asking = asyncio.create_task(_ask_until(app, answers, last=[new]))
        await app.control("an operator").release(hold)
        await work(app)
        await asking

    assert {tuple(answer) for answer in answers} == {(old,), (new,)}
    assert all(before <= after for before, after in pairwise(answers))


async def test_file_that_changes_back_answers_with_its_old_words(ground: Ground) -> None:
    path = ground.library / "keeper.txt"
    async with ground.opened() as app:
        results = []
        for text in (OLD, NEW, OLD):
            path.write_text(text)
            results += [one.result for one in await take_in(app, path)]
            await work(app)

        found = await app.search.find("keeper of the lighthouse", organisation=ORGANISATION)
        doctor = await app.examine(deep=True)

    assert results == [Result.CREATED, Result.CREATED, Result.DUPLICATE], "what is known is not paid again"
    assert [hit.text for hit in found.hits] == [OLD]
    assert doctor == []


async def test_file_that_moved_is_a_duplicate_and_runs_nothing(ground: Ground) -> None:
    path = ground.library / "keeper.txt"
    path.write_text(OLD)
    async with ground.opened() as app:
        first = (await take_in(app, path))[0]
        await work(app)
        path.rename(ground.library / "warden.txt")
        (moved,) = await take_in(app, ground.library)
        await work(app)

        original = await app.database.fetchval(
            "select duplicate_of from holdfast.document where id = $1", moved.document_id
        )
        assert (moved.result, original) == (Result.DUPLICATE, first.document_id)
        assert await attempts(app, "keeper.txt") == COMPLETED_ONCE
        assert not await attempts(app, "warden.txt")
        assert await _answering(app) == [first.document_id]


async def _answering(app: App) -> list[int]:
    found = await app.search.find("keeper of the lighthouse", organisation=ORGANISATION)
    return sorted({hit.document_id for hit in found.hits})


async def _ask_until(app: App, answers: list[list[int]], *, last: Iterable[int]) -> None:
    """Note what answers, again and again, until the last does."""

    async def ask() -> bool:
        answers.append(await _answering(app))
        return answers[-1] == last

    await until(ask)
