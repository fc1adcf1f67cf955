"""A folder that is taken in again: what has not changed is recognised, and only what changed runs."""

from collections import Counter
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from holdfast.app import App
from holdfast.intake.intake import Result
from tests.walks.documents.ground import LONG, PHASES, Ground, take_in, work

pytestmark = [pytest.mark.asyncio(loop_scope="module"), LONG]

FILES = 1000
TABLES = "select relname from pg_class where relnamespace = 'holdfast'::regnamespace and relkind = 'r' order by relname"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(common_ground: Ground) -> AsyncIterator[App]:
    """A thousand small files, all of them complete."""
    for n in range(FILES):
        text = f"Sheet {n} of the ledger: the barge of skipper {n * 31} paid {n % 17} shillings for lock {n % 9}."
        (common_ground.library / f"sheet-{n:04}.txt").write_text(text)
    async with common_ground.opened() as app:
        await take_in(app, common_ground.library)
        await work(app)
        yield app


async def test_unchanged_folder_runs_no_phase_and_writes_nothing(app: App, common_ground: Ground) -> None:
    rows, objects = await _rows(app), _objects(common_ground)

    taken = await take_in(app, common_ground.library)

    assert Counter(one.result for one in taken) == {Result.UNCHANGED: FILES}
    assert await _rows(app) == rows
    assert _objects(common_ground) == objects


async def test_only_the_file_that_changed_runs(app: App, common_ground: Ground) -> None:
    path = common_ground.library / "sheet-0500.txt"
    path.write_text(path.read_text() + " The clerk has struck this line out.")
    before = await _attempts(app)

    taken = await take_in(app, common_ground.library)
    await work(app)

    assert Counter(one.result for one in taken) == {Result.UNCHANGED: FILES - 1, Result.CREATED: 1}
    assert await _attempts(app) - before == Counter(PHASES)


async def _attempts(app: App) -> Counter[str]:
    rows = await app.database.fetch("select phase, count(*) from holdfast.pipeline_phase group by phase")
    return Counter({row["phase"]: row["count"] for row in rows})


async def _rows(app: App) -> dict[str, str]:
    """Every row of every table, as a digest per table."""
    names = [row["relname"] for row in await app.database.fetch(TABLES)]
    digest = "select md5(string_agg(md5(t::text), '' order by md5(t::text))) from holdfast.{} t"
    return {name: await app.database.fetchval(digest.format(name)) for name in names}


def _objects(ground: Ground) -> set[str]:
    return {str(path) for path in ground.store.rglob("*")}
