"""The doctor: one corruption, one finding; repairs mend what they claim; a healthy database is left alone."""

from dataclasses import replace
from decimal import Decimal

import pytest

from holdfast.db.connection import Database
from holdfast.engine.doctor import REPAIRS, examine, mend, repair
from holdfast.engine.invariants import CHECKS
from holdfast.engine.pipeline import Done
from holdfast.engine.queue import Lane, Queue, Submission, submit
from tests.conftest import Clock
from tests.engine.corruptions import CORRUPTIONS, Corruption, corrupt
from tests.engine.lively_history import DOCUMENTS, WORKER, History, live_through

REPAIRABLE = [corruption for corruption in CORRUPTIONS if corruption.check in REPAIRS]
COST_OF_WORKING = Corruption(
    "i11_total_cost", "update holdfast.pipeline_job set total_cost_usd = 1 where id = {jobs[paid]}"
)


@pytest.fixture
async def history(database: Database, noon: Clock) -> History:
    return await live_through(database, noon)


async def test_healthy_database_has_no_findings(database: Database, history: History) -> None:
    assert await examine(database) == []


@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=lambda c: c.check)
async def test_one_corruption_is_one_finding(database: Database, history: History, corruption: Corruption) -> None:
    await corrupt(database, corruption, history)
    assert [(finding.check, finding.count) for finding in await examine(database)] == [(corruption.check, 1)]


def test_every_check_has_its_corruption() -> None:
    corrupted = {corruption.check for corruption in CORRUPTIONS} | {"i20_ready_is_taken", "i20_is_served"}
    assert {check.name for check in CHECKS} == corrupted


async def test_finding_names_the_job(database: Database, history: History) -> None:
    job = history.jobs["done"]
    await database.execute("update holdfast.pipeline_job set total_cost_usd = 1 where id = $1", job)
    (finding,) = await examine(database)
    assert (finding.invariant, finding.subject, finding.ids) == ("I11", "job", (job,))


async def test_finding_shows_only_the_first_ids(database: Database, history: History) -> None:
    await database.execute(
        "insert into holdfast.document (organisation, source_name, created_at)"
        " select 'o', 'lost', now() from generate_series(1, 25)"
    )
    (finding,) = await examine(database)
    assert (finding.count, len(finding.ids)) == (25, 20)


@pytest.mark.parametrize("corruption", REPAIRABLE, ids=lambda c: c.check)
async def test_repair_mends_what_it_claims(database: Database, history: History, corruption: Corruption) -> None:
    await corrupt(database, corruption, history)
    assert [mended.check for mended in await repair(database)] == [corruption.check]
    assert await examine(database) == []


@pytest.mark.parametrize("corruption", {c.check: c for c in REPAIRABLE}.values(), ids=lambda c: c.check)
async def test_repair_is_audited(database: Database, history: History, corruption: Corruption) -> None:
    await corrupt(database, corruption, history)
    before = await database.fetchval("select count(*) from holdfast.audit_log")
    await repair(database, actor="tester")
    rows = await database.fetch("select actor, action, reason from holdfast.audit_log where id > $1", before)
    invariant = corruption.check[1:3].lstrip("0")
    assert {(row["actor"], row["action"], row["reason"].split(":")[0]) for row in rows} == {
        ("tester", "repair", f"I{invariant}")
    }


async def test_repair_of_a_healthy_database_changes_nothing(database: Database, history: History) -> None:
    before = await every_row(database)
    assert await repair(database) == []
    assert await every_row(database) == before


@pytest.mark.parametrize("name", REPAIRS)
async def test_repair_decides_again_under_its_lock(database: Database, history: History, name: str) -> None:
    """What was wrong when it was found may be right when its lock is had: then nothing changes."""
    (check,) = [check for check in CHECKS if check.name == name]
    table, key = {
        "job": ("pipeline_job", "id"),
        "document": ("document", "id"),
        "budget_day": ("budget_day", "budget_id || '/' || day"),
    }[check.subject]
    ids = [row["id"] for row in await database.fetch(f"select {key} as id from holdfast.{table}")]
    before = await every_row(database)
    assert await mend(database, check, ids, actor="tester") == []
    assert await every_row(database) == before


async def test_repair_leaves_what_a_live_worker_holds(database: Database, history: History) -> None:
    await corrupt(database, COST_OF_WORKING, history)
    assert await repair(database) == []
    await Queue(database).settle([(history.working, Done())])
    assert [mended.check for mended in await repair(database)] == ["i11_total_cost"]


async def test_repair_leaves_what_others_have_locked(database: Database, history: History) -> None:
    await database.execute("update holdfast.pipeline_job set total_cost_usd = 1 where state = 'done'")
    async with database.transaction() as other:
        await other.execute("select from holdfast.pipeline_job for update")
        assert await repair(database) == []


async def test_job_moved_on_from_a_completed_phase_is_claimed_for_the_next(
    database: Database, history: History
) -> None:
    job = history.jobs["moved"]
    await database.execute("update holdfast.pipeline_job set phase = 'extract' where id = $1", job)
    await repair(database)
    attempts = await Queue(database).claim(WORKER, [Lane("documents", "enrich", 10)])
    assert job in [attempt.job_id for attempt in attempts]


async def test_reservation_goes_on_in_the_budget_it_began_in(database: Database, history: History) -> None:
    await database.execute("select holdfast.set_budget('enrichment', 3, 'paid')")
    await Queue(database).reserve_budget(history.working, Decimal("0.001"))
    assert await examine(database) == []


async def test_idle_worker_and_a_ready_job_are_a_finding(database: Database, clock: Clock, history: History) -> None:
    await idle_worker(database, clock, seconds=31)
    (finding,) = await examine(database)
    assert (finding.check, history.jobs["waiting"] in finding.ids) == ("i20_ready_is_taken", True)


async def test_idle_worker_is_granted_time(database: Database, clock: Clock, history: History) -> None:
    await idle_worker(database, clock, seconds=15)
    assert await examine(database) == []


async def test_job_out_of_a_retired_phase_begins_its_wait_anew(
    database: Database, clock: Clock, history: History
) -> None:
    await idle_worker(database, clock, seconds=31)
    await Queue(database).register([replace(DOCUMENTS, phases=DOCUMENTS.phases[1:], version=2)])
    lanes = [Lane("documents", "enrich", 10)]
    await Queue(database).register_worker("idle", host="here", pid=2, lanes=lanes)
    await database.execute("select from holdfast.sweep()")
    (finding,) = await examine(database)
    assert history.jobs["moved"] in finding.ids
    assert history.jobs["waiting"] not in finding.ids


async def test_job_under_a_hold_is_not_ready(database: Database, clock: Clock, history: History) -> None:
    await database.execute("""select holdfast.hold('{"phase": "extract"}')""")
    await idle_worker(database, clock, seconds=31)
    assert await examine(database) == []


async def test_job_in_a_phase_that_no_living_worker_runs_is_found(database: Database, clock: Clock) -> None:
    queue = Queue(database)
    await queue.register([DOCUMENTS])
    (submitted,) = await submit(database, "documents", [Submission(organisation="acme")])
    await clock.advance(minutes=6)
    assert await examine(database) == []  # nobody is there at all
    await queue.register_worker("other", host="here", pid=2, lanes=[Lane("documents", "embed", 10)])
    (finding,) = await examine(database)
    assert (finding.check, finding.ids) == ("i20_is_served", (submitted.job_id,))
    await queue.register_worker("right", host="here", pid=3, lanes=[Lane("documents", "extract", 10)])
    assert await examine(database) == []


async def test_silent_worker_is_granted_two_sweeps(database: Database, clock: Clock, history: History) -> None:
    await clock.advance(seconds=16)
    assert await examine(database) == []


async def idle_worker(database: Database, clock: Clock, *, seconds: float) -> None:
    """A second worker, for the phase `extract`, that has had nothing to do since it began."""
    queue = Queue(database)
    await queue.register_worker("idle", host="here", pid=2, lanes=[Lane("documents", "extract", 10)])
    await clock.advance(seconds=seconds)
    await queue.heartbeat("idle", [])
    await queue.heartbeat(WORKER, [])


async def every_row(database: Database) -> dict[str, object]:
    """All that is stored, by table."""
    tables = await database.fetch("select tablename from pg_tables where schemaname = 'holdfast'")
    return {
        row["tablename"]: await database.fetchval(
            f"select jsonb_agg(to_jsonb(t) order by to_jsonb(t)) from holdfast.{row['tablename']} t"
        )
        for row in tables
    }
