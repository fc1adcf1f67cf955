"""An organisation's wall: whoever is confined to one sees and touches nothing of another, whatever is asked."""

import re

import pytest

from holdfast.db.connection import Database, connect
from holdfast.engine.control import Control
from holdfast.engine.overview import Overview
from holdfast.engine.queue import Submission, submit
from holdfast.engine.selection import Selection
from holdfast.errors import DatabaseUnusable, NotFound
from holdfast.search.search import Search
from holdfast.settings import Settings
from tests.endpoint import with_option
from tests.engine.scenario import Scenario, begin, plain
from tests.search.library import Library

TABLES = """
select relname from pg_class
where relnamespace = 'holdfast'::regnamespace and relkind in ('r', 'v', 'm', 'p')
order by relname
"""


@pytest.fixture
async def scenario(database: Database) -> Scenario:
    """An engine with one pipeline."""
    return await begin(database, plain("extract"))


@pytest.fixture
async def theirs(database: Database, scenario: Scenario) -> int:
    """A job of another organisation."""
    items = [Submission(organisation=name, source_name=f"{name}.pdf") for name in ("acme", "other")]
    _, other = await submit(database, scenario.pipeline, items)
    return other.job_id


@pytest.fixture
async def confined(database: Database, theirs: int) -> Database:
    return database.confined_to("acme")


@pytest.mark.parametrize("name", ["it's", "back\\slash", "\\'; reset role; --"])
async def test_no_name_of_an_organisation_says_anything_to_the_server(dsn: str, database: Database, name: str) -> None:
    async with connect(Settings(database_url=with_option(dsn, "standard_conforming_strings", "off"))) as lenient:
        for one in (database, lenient):
            row = await one.confined_to(name).fetchrow(
                "select current_user::text, current_setting('holdfast.organisation')"
            )
            assert row is not None
            assert tuple(row) == ("holdfast_tenant", name)


async def test_every_table_shows_own_rows_or_none(database: Database, confined: Database) -> None:
    await Library(database).add("Ours.", organisation="acme")
    await Library(database).add("Theirs.", organisation="other")
    for row in await database.fetch(TABLES):
        rows = await _rows_seen(confined, row["relname"])
        assert "other" not in [seen.get("organisation") for seen in rows], row["relname"]
        assert not re.search(r"theirs|other\.pdf", str(rows).lower()), row["relname"]


async def test_nothing_can_be_written_past_the_functions(database: Database, confined: Database) -> None:
    for row in await database.fetch(TABLES):
        for attempt in ("delete from holdfast.{}", "truncate holdfast.{}", "insert into holdfast.{} default values"):
            with pytest.raises(Exception, match=r"permission denied|is not a table|cannot (insert|delete)"):
                await confined.execute(attempt.format(row["relname"]))


async def test_another_organisations_job_is_not_there(database: Database, confined: Database, theirs: int) -> None:
    overview = Overview(confined)
    assert [job["organisation"] for job in (await overview.jobs())["jobs"]] == ["acme"]
    with pytest.raises(NotFound):
        await overview.job(theirs)
    for act in ("retry", "reset", "cancel"):
        with pytest.raises(NotFound):
            await getattr(Control(confined, "acme's key"), act)(Selection(ids=(theirs,)))
    for sql in ("retry($1)", "reset($1)", "cancel($1)"):
        assert await confined.fetchval(f"select result from holdfast.{sql}", [theirs]) == "not_found"
    assert await database.fetchval("select state from holdfast.pipeline_job where id = $1", theirs) == "queued"


async def test_by_filter_only_own_jobs_are_met(database: Database, confined: Database, theirs: int) -> None:
    tally = await Control(confined, "acme's key").cancel(Selection(everything=True))
    assert tally.counts == {"cancelled": 1}
    assert await database.fetchval("select state from holdfast.pipeline_job where id = $1", theirs) == "queued"


async def test_nothing_is_submitted_for_another(confined: Database, scenario: Scenario, theirs: int) -> None:
    with pytest.raises(NotFound, match="not yours"):
        await submit(confined, scenario.pipeline, [Submission(organisation="other", source_name="x")])


async def test_another_organisations_document_is_neither_published_nor_removed(
    database: Database, confined: Database, theirs: int
) -> None:
    document = await database.fetchval("select document_id from holdfast.pipeline_job where id = $1", theirs)
    for sql in (
        "delete_document($1, 'acme')",
        "publish_document($1)",
        "use_artifacts($1, '[]', 'acme')",
        "overview_document($1)",
    ):
        with pytest.raises(NotFound):
            await confined.execute(f"select holdfast.{sql}", document)


async def test_search_answers_from_own_documents_whoever_is_named(database: Database, confined: Database) -> None:
    await Library(database).add("The ferry leaves at noon.", organisation="acme")
    await Library(database).add("The ferry leaves at night.", organisation="other")
    search = Search(confined, None)
    assert [hit.text for hit in (await search.find("ferry", organisation="acme")).hits] == ["The ferry leaves at noon."]
    assert (await search.find("ferry", organisation="other")).hits == ()


async def test_confinement_ends_with_its_transaction(database: Database, confined: Database) -> None:
    await confined.fetch("select 1")
    assert await database.fetchval("select holdfast.confined_to()") is None
    assert await database.fetchval("select count(distinct organisation) from holdfast.document") == 2


@pytest.mark.parametrize("name", ["o'hare", "o''; reset role; --", "back\\slash", "acme"])
async def test_any_name_confines(database: Database, theirs: int, name: str) -> None:
    confined = database.confined_to(name)
    assert await confined.fetchval("select current_setting('holdfast.organisation')") == name
    assert await confined.fetchval("select current_user") == "holdfast_tenant"
    assert {row["organisation"] for row in await confined.fetch("select * from holdfast.document")} <= {name}


async def _rows_seen(confined: Database, table: str) -> list[dict[str, object]]:
    try:
        return [dict(row) for row in await confined.fetch(f'select * from holdfast."{table}"')]
    except DatabaseUnusable:  # permission denied
        return []
