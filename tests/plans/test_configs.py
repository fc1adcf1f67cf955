"""What is asked of a run of configurations costs what that run holds, however many others there are."""

from collections.abc import AsyncIterator
from contextlib import suppress

import asyncpg
import pytest

from holdfast.db.connection import Database
from holdfast.engine.pipeline import Pipeline
from holdfast.engine.queue import Queue
from tests.engine.scenario import plain
from tests.plans.cost import CALLS_UNTIL_PLANS_ARE_CACHED, rows_read

RUNS = 3_000
SETTINGS = 20
MOST_ROWS = 200  # two runs hold fewer; a scan of any of the tables reads thousands
RUN, OTHER = 1_000, 1_001
STATEMENTS = (
    f"select * from holdfast.configs_run({RUN})",
    f"select * from holdfast.settings_of({RUN}, null, null, '{{0,0,0}}', 101)",
    f"select * from holdfast.settings_of({RUN}, 'app.conf', 'stanza 3', '{{1,3,10}}', 101)",
    f"select * from holdfast.parse_errors_of({RUN}, null, 100)",
    f"select * from holdfast.diff_configs({RUN}, {OTHER}, 0, 100)",
)
HISTORY = f"""
select holdfast.submit('configs', jsonb_agg(jsonb_build_object('organisation', 'acme', 'source_name', n || '.tgz')))
from generate_series(1, {RUNS}) n;
insert into holdfast.config_file (document_id, number, organisation, source_path, file, encoding)
select id, 1, organisation, 'etc/app.conf', 'app.conf', 'utf-8' from holdfast.document;
insert into holdfast.config_stanza (document_id, file_number, number, organisation, file, name, source_path, line)
select d.id, 1, n, d.organisation, 'app.conf', 'stanza ' || n, 'etc/app.conf', n * 10
from holdfast.document d cross join generate_series(1, {SETTINGS}) n;
insert into holdfast.config_setting (document_id, file_number, stanza_number, line, organisation, key, value)
select document_id, 1, number, line + 1, organisation, 'key', md5(document_id::text || number)
from holdfast.config_stanza;
insert into holdfast.config_parse_error (document_id, file_number, line, organisation, message, text)
select document_id, 1, line + 2, organisation, 'no key', 'nonsense' from holdfast.config_stanza;
"""


@pytest.fixture
async def history(database: Database, dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """So many runs, in the session of someone who made their plans while there were none."""
    await Queue(database).register([Pipeline("configs", phases=plain("parse").phases)])
    connection = await asyncpg.connect(dsn)
    for _ in range(CALLS_UNTIL_PLANS_ARE_CACHED):
        for statement in STATEMENTS:
            with suppress(asyncpg.PostgresError):  # the runs are not there yet
                await connection.fetch(statement)
    await connection.execute(HISTORY)
    yield connection
    await connection.close()


@pytest.mark.parametrize("analysed", [False, True])
async def test_cost_does_not_grow_with_the_runs(history: asyncpg.Connection, analysed: bool) -> None:
    if analysed:
        await history.execute("analyze")
    rows = {statement: await rows_read(history, statement) for statement in STATEMENTS}
    assert max(rows.values()) < MOST_ROWS, rows
    assert await rows_read(history, "select count(value) from holdfast.config_setting") > MOST_ROWS


async def test_page_deep_in_a_large_run_costs_what_it_shows(history: asyncpg.Connection) -> None:
    await history.execute(
        "insert into holdfast.config_stanza"
        f" select {RUN}, 1, n, 'acme', 'app.conf', 'more ' || n, 'etc/app.conf', n * 10"
        " from generate_series(100, 9999) n;"
        "insert into holdfast.config_setting"
        f" select {RUN}, 1, n, n * 10 + 1, 'acme', 'key', md5(n::text) from generate_series(100, 9999) n"
    )
    deep = f"select * from holdfast.settings_of({RUN}, null, null, '{{1,9000,0}}', 21)"
    assert await rows_read(history, deep) < MOST_ROWS
