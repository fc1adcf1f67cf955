"""A hundred thousand old rows: taken over, killed on the way, counted, undone, and nothing is other than before."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from holdfast.db.connection import Database
from holdfast.engine.doctor import examine
from holdfast.engine.queue import Submission, submit
from tests.cli.conftest import CommandLine
from tests.takeover.conftest import Installation
from tests.takeover.expected import expected
from tests.takeover.old_database import COMBINATIONS, EVERY_ROW, GUARD, filling, used_up

pytestmark = pytest.mark.thorough

ROWS = 100_000
# A quarter of a minute and more for each way, several times as much where others work too.
MOST_SECONDS = 600
KEPT = (
    "document",
    "pipeline_job",
    "pipeline_phase",
    "artifact",
    "artifact_use",
    "artifact_lease",
    "hold",
    "fair_share",
    "taken_row",
    "trial",
)
STANDINGS = """
select r.original_status, r.original_state, j.flow, j.status, j.state, count(*)
from holdfast.taken_row r left join holdfast.pipeline_job j on j.id = r.job_id and j.document_id = r.document_id
group by 1, 2, 3, 4, 5
"""
# What every failure must say (A4), whatever the old error was.
WRONG_ERRORS = """
select count(*) from holdfast.taken_row r join holdfast.pipeline_job j on j.id = r.job_id
where j.state in ('failed', 'deadletter') and (
    not j.last_error ?& array['component', 'category', 'error', 'error_type', 'error_code', 'failed_at',
                              'correlation_id', 'retry_count', 'max_retries', 'retryable', 'details']
    or j.last_error -> 'details' ->> 'original_status' is distinct from r.original_status
    or (j.last_error ->> 'failed_at')::timestamptz is null
    or (j.last_error ? 'retry_at') <> (j.ready_at is not null)
    or (j.state = 'failed' and j.flow = 'new' and (j.last_error ->> 'retryable')::boolean) <> (j.ready_at is not null)
    or j.policy <> 'doubling')
"""
NOT_THE_SAME = """
select count(*) from public.documents o left join holdfast.taken_row r on r.key = o.id::text
where r.row_before::text is distinct from row_to_json(o)::text
"""


@pytest.fixture
def desk(dsn: str, tmp_path: Path) -> CommandLine:
    settings = {"HOLDFAST_DATABASE_URL": dsn, "HOLDFAST_HOME": str(tmp_path / "home"), "HOLDFAST_PIPELINES": ""}
    return CommandLine(settings, tmp_path, seconds=MOST_SECONDS)


async def fingerprints(database: Database) -> dict[str, str]:
    tables = {name: f"select md5(string_agg(t::text, '' order by t::text)) from holdfast.{name} t" for name in KEPT}
    return {name: await database.fetchval(sql) for name, sql in (tables | {"old": EVERY_ROW}).items()}


async def killed_when(desk: CommandLine, database: Database, option: str, condition: str) -> None:
    """Start it, and end it with SIGKILL once the backup has come so far."""
    with desk.started("takeover", option) as process:
        while not await database.fetchval(f"select {condition} from holdfast.taken_row"):
            assert process.poll() is None, process.stderr
            await asyncio.sleep(0.02)
        process.kill()
        process.wait()


# Once is enough of so many; a few rows of every kind are taken over on each server.
@pytest.mark.parametrize("server", ["embedded"], indirect=True)
@pytest.mark.timeout(2 * MOST_SECONDS)
async def test_hundred_thousand_rows_there_and_back(old: Installation, database: Database, desk: CommandLine) -> None:
    await database.execute(*filling(ROWS))
    await database.execute(GUARD)
    # One of them has the content of an old row.
    items = [Submission(organisation="org-3", source_name=f"{n}.pdf", content_hash=f"hash-{n}") for n in range(20)]
    await submit(database, "documents", items)
    before = await fingerprints(database)

    await killed_when(desk, database, "--run", "count(*) between 3000 and 90000")
    halfway = await database.fetchval("select count(*) from holdfast.taken_row")
    told = await asyncio.to_thread(desk.succeed, "takeover", "--run", "--json")

    assert 3000 <= halfway < ROWS
    report = told.json
    assert (report["rows"], report["verified"], report["differences"]) == (ROWS, True, [])
    assert report["taken"] + report["old_flow"] + report["left"] == ROWS
    kinds = ((*COMBINATIONS[n % len(COMBINATIONS)][:2], used_up(n)) for n in range(ROWS))
    wanted = Counter(
        (status, state, *(expected(status, state, used_up=used) or (None, None, None))) for status, state, used in kinds
    )
    standings = {tuple(row)[:5]: row[5] for row in await database.fetch(STANDINGS)}
    assert standings == wanted
    assert await database.fetchval(WRONG_ERRORS) == 0
    assert await database.fetchval(NOT_THE_SAME) == 0
    assert await examine(database) == []

    await killed_when(desk, database, "--undo", f"count(*) between 1 and {ROWS - 2000}")
    remaining = await database.fetchval("select count(*) from holdfast.taken_row")
    undone = await asyncio.to_thread(desk.succeed, "takeover", "--undo", "--json")

    # What was sent before the kill may have been done after it.
    assert 0 < undone.json["removed"] <= remaining
    assert (undone.json["discarded"], undone.json["kept"]) == (0, 0)
    assert await fingerprints(database) == before
    acts = await database.fetch("select action from holdfast.audit_log order by id")
    begun, ended = ["takeover"] * 2 + ["takeover_finished"], ["takeover_undo"] * 2 + ["takeover_undone"]
    assert [act["action"] for act in acts] == begun + ended
