"""Which moves the database allows: all 49 pairs of states, and everything else that it refuses by itself."""

from contextlib import suppress
from itertools import product

import asyncpg
import pytest

from holdfast.db.connection import Database
from holdfast.engine.pipeline import Done, GiveBack
from holdfast.errors import AuthenticationFailed, Conflict, CorruptInput, InvalidInput, NetworkTimeout
from tests.conftest import Clock
from tests.engine.scenario import LEASE_SECONDS, Scenario, begin, plain

STATES = ("queued", "working", "failed", "held", "done", "deadletter", "cancelled")
LEGAL = {
    "queued": {"working", "failed", "done", "held", "cancelled"},
    "working": {"queued", "done", "failed", "held", "deadletter", "cancelled"},
    "failed": {"queued", "done", "deadletter", "cancelled"},
    "held": {"queued", "cancelled"},
    "done": set(),
    "deadletter": set(),
    "cancelled": set(),
}
BY_VERBS = {
    ("queued", "working"),
    ("queued", "held"),
    ("queued", "cancelled"),
    ("working", "queued"),
    ("working", "done"),
    ("working", "failed"),
    ("working", "held"),
    ("working", "deadletter"),
    ("working", "cancelled"),
    ("failed", "queued"),
    ("failed", "cancelled"),
    ("held", "queued"),
    ("held", "cancelled"),
    ("deadletter", "queued"),
    ("cancelled", "queued"),
}

INSERT_JOB = """
with new_document as (
    insert into holdfast.document (organisation, source_name, created_at) values ('acme', 'one', clock_timestamp())
    returning id
)
insert into holdfast.pipeline_job (document_id, organisation, pipeline, phase, status, state, vtime, token,
                                   submitted_at, worker_id, started_at)
select id, 'acme', 'documents', $1, $2, $3, 1, 5, clock_timestamp(),
       case when $3 = 'working' then 'w' end, case when $3 = 'working' then clock_timestamp() end
from new_document
returning id
"""
MOVE_JOB = """
update holdfast.pipeline_job
set state = $2, worker_id = case when $2 = 'working' then 'w' end,
    started_at = case when $2 = 'working' then clock_timestamp() end,
    audit_id = coalesce($3, audit_id)
where id = $1
"""
RECORD_MOVES = """
create table public.move (was text, became text);
grant insert on public.move to public;
create function public.record_move() returns trigger language plpgsql as $$
begin
    insert into public.move values (old.state, new.state);
    return null;
end $$;
create trigger record_move after update on holdfast.pipeline_job
for each row when (old.state <> new.state) execute function public.record_move();
"""


@pytest.fixture
async def scenario(database: Database) -> Scenario:
    return await begin(database, plain("extract", "embed"))


async def insert_job(
    database: Database, state: str = "queued", *, phase: str = "extract", status: str = "submitted"
) -> int:
    job: int = await database.fetchval(INSERT_JOB, phase, status, state)
    return job


async def audit(database: Database, job: int) -> int:
    record: int = await database.fetchval(
        "insert into holdfast.audit_log (at, actor, action, job_id) values (clock_timestamp(), 'me', 'retry', $1) "
        "returning id",
        job,
    )
    return record


async def move(database: Database, job: int, state: str, *, audit_id: int | None = None) -> None:
    await database.execute(MOVE_JOB, job, state, audit_id)


async def test_of_all_pairs_of_states_the_database_allows_the_legal_ones_only(scenario: Scenario) -> None:
    allowed: dict[str, set[str]] = {state: set() for state in STATES}
    for was, becomes in product(STATES, STATES):
        job = await insert_job(scenario.database, was)
        with suppress(Conflict):
            await move(scenario.database, job, becomes)
            allowed[was].add(becomes)
    assert allowed == {was: LEGAL[was] | {was} for was in STATES}


async def test_verbs_make_every_move_that_is_theirs(scenario: Scenario, clock: Clock) -> None:
    database, queue = scenario.database, scenario.queue
    await database.execute(RECORD_MOVES)
    await scenario.submit(5)
    done, given, failed, held, doomed = await scenario.claim("extract", 5)
    await queue.settle([(done, Done())])
    await queue.settle([(await scenario.claim_one("embed"), Done())])
    await queue.give_back([(given, GiveBack("not here"))])
    await database.execute("select * from holdfast.cancel($1)", [given.job_id])
    await database.execute("select * from holdfast.retry($1)", [given.job_id])
    await scenario.fail([failed], NetworkTimeout("later"))
    await database.execute("select * from holdfast.retry($1)", [failed.job_id])
    await scenario.fail([held], AuthenticationFailed("who are you?"))
    await scenario.put_back_what_is_due()
    await scenario.claim("extract", 5)  # parks what the hold covers
    await database.execute("select * from holdfast.cancel($1)", [held.job_id])
    await scenario.fail([doomed], CorruptInput("torn"))
    await database.execute("select * from holdfast.cancel($1)", [doomed.job_id])
    await _crash_to_the_dead_letter(scenario, clock)
    found = await database.fetch("select distinct was, became from public.move")
    assert {(row["was"], row["became"]) for row in found} == BY_VERBS


async def _crash_to_the_dead_letter(scenario: Scenario, clock: Clock) -> None:
    """Release and cancel all others, lose a job three times with its workers, reopen it, then cancel it at work."""
    database = scenario.database
    await database.execute("select holdfast.release(id) from holdfast.hold where drained_at is null")
    await scenario.put_back_what_is_due()
    await database.execute("select holdfast.cancel(array(select id from holdfast.pipeline_job where state = 'queued'))")
    victim = await scenario.submit_one()
    for crash in range(3):
        await scenario.register_worker(f"short-lived-{crash}")
        await scenario.claim("extract", worker=f"short-lived-{crash}")
        await clock.advance(seconds=LEASE_SECONDS + 1)
        await scenario.queue.sweep(LEASE_SECONDS)
    await database.execute("select * from holdfast.retry($1)", [victim.job_id])
    await scenario.register_worker("last")
    await scenario.claim("extract", worker="last")
    await database.execute("select * from holdfast.cancel($1)", [victim.job_id])


@pytest.mark.parametrize(
    ("verb", "result"), [("cancel", "is_done"), ("retry", "already_completed"), ("reset", "already_completed")]
)
async def test_verbs_leave_a_done_job_alone(scenario: Scenario, verb: str, result: str) -> None:
    job = await insert_job(scenario.database, "done")
    answer = await scenario.database.fetchrow(f"select * from holdfast.{verb}($1)", [job])
    assert answer is not None
    assert answer["result"] == result


@pytest.mark.parametrize("state", ["deadletter", "cancelled"])
async def test_new_audit_row_reopens(scenario: Scenario, state: str) -> None:
    job = await insert_job(scenario.database, state)
    await move(scenario.database, job, "queued", audit_id=await audit(scenario.database, job))
    assert await scenario.database.fetchval("select state from holdfast.pipeline_job where id = $1", job) == "queued"


@pytest.mark.parametrize("state", ["deadletter", "cancelled"])
async def test_audit_row_of_an_earlier_act_does_not_reopen(scenario: Scenario, state: str) -> None:
    job = await insert_job(scenario.database, state)
    earlier, latest = await audit(scenario.database, job), await audit(scenario.database, job)
    await move(scenario.database, job, state, audit_id=latest)
    for used in (earlier, latest):
        with pytest.raises(Conflict, match="may not go from"):
            await move(scenario.database, job, "queued", audit_id=used)


async def test_audit_row_of_another_job_does_not_reopen(scenario: Scenario) -> None:
    job, other = await insert_job(scenario.database, "cancelled"), await insert_job(scenario.database)
    record = await audit(scenario.database, other)
    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await move(scenario.database, job, "queued", audit_id=record)


async def test_done_is_final_even_with_an_audit_row(scenario: Scenario) -> None:
    job = await insert_job(scenario.database, "done")
    for state in set(STATES) - {"done"}:
        with pytest.raises(Conflict, match=f"from done to {state}"):
            await move(scenario.database, job, state, audit_id=await audit(scenario.database, job))


async def test_audit_row_makes_no_other_move_legal(scenario: Scenario) -> None:
    for was, becomes in product(("deadletter", "cancelled"), ("working", "failed", "held", "done")):
        job = await insert_job(scenario.database, was)
        with pytest.raises(Conflict, match="may not go from"):
            await move(scenario.database, job, becomes, audit_id=await audit(scenario.database, job))


async def test_tokens_never_go_back(scenario: Scenario) -> None:
    job = await insert_job(scenario.database)
    with pytest.raises(Conflict, match="may not go back from token 5 to 4"):
        await scenario.database.execute("update holdfast.pipeline_job set token = 4 where id = $1", job)


@pytest.mark.parametrize(("column", "word"), [("status", "status"), ("phase", "phase")])
async def test_unknown_status_or_phase_is_refused(scenario: Scenario, column: str, word: str) -> None:
    with pytest.raises(InvalidInput, match=f'no {word} "processing"'):
        await insert_job(scenario.database, **{column: "processing"})
    job = await insert_job(scenario.database)
    with pytest.raises(InvalidInput, match=f'no {word} "processing"'):
        await scenario.database.execute(f"update holdfast.pipeline_job set {column} = 'processing' where id = $1", job)


async def test_status_of_another_pipeline_is_refused(scenario: Scenario) -> None:
    await scenario.queue.register([plain("paint", name="pictures")])
    with pytest.raises(InvalidInput, match='pipeline "documents" has no status "paint_done"'):
        await insert_job(scenario.database, status="paint_done")


async def test_unknown_state_is_refused(scenario: Scenario) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="pipeline_job_state_check"):
        await insert_job(scenario.database, "retryable")
    job = await insert_job(scenario.database)
    # On an update the illegal move is noticed even before the unknown word.
    with pytest.raises(Conflict, match="from queued to retryable"):
        await move(scenario.database, job, "retryable")


@pytest.mark.parametrize("column", ["worker_id", "started_at"])
async def test_working_job_has_a_worker_and_a_start(scenario: Scenario, column: str) -> None:
    job = await insert_job(scenario.database, "working")
    with pytest.raises(asyncpg.CheckViolationError, match="working_has_worker_and_start"):
        await scenario.database.execute(f"update holdfast.pipeline_job set {column} = null where id = $1", job)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("pipeline_job", "retry_count"),
        ("pipeline_job", "max_retries"),
        ("pipeline_job", "crash_count"),
        ("pipeline_job", "total_cost_usd"),
        ("document", "failure_count"),
        ("budget", "daily_limit_usd"),
        ("budget_day", "reserved_usd"),
        ("budget_day", "spent_usd"),
        ("budget_day", "overrun_usd"),
        ("budget_day", "refusals"),
        ("budget_entry", "reserved_usd"),
        ("budget_entry", "spent_usd"),
        ("budget_entry", "overrun_usd"),
    ],
)
async def test_counters_and_money_are_never_negative(scenario: Scenario, table: str, column: str) -> None:
    job = await insert_job(scenario.database)
    await scenario.database.execute(
        """
        with b as (insert into holdfast.budget (name) values ('pot') returning id),
             d as (insert into holdfast.budget_day (budget_id, day, limit_usd)
                   select id, '2030-01-01', 5 from b returning budget_id)
        select 1
        """
    )
    await scenario.database.execute(
        "insert into holdfast.budget_entry (job_id, token, budget_id, day, reserved_usd) "
        "select $1, 1, id, '2030-01-01', 0 from holdfast.budget",
        job,
    )
    with pytest.raises(asyncpg.CheckViolationError, match=column):
        await scenario.database.execute(f"update holdfast.{table} set {column} = -1")


async def test_attempts_are_append_only(scenario: Scenario) -> None:
    await scenario.submit()
    await scenario.queue.settle([(await scenario.claim_one("extract"), Done())])
    with pytest.raises(Conflict, match="append-only"):
        await scenario.database.execute("update holdfast.pipeline_phase set outcome = 'completed'")
    with pytest.raises(Conflict, match="append-only"):
        await scenario.database.execute("delete from holdfast.pipeline_phase")


async def test_audit_log_is_append_only(scenario: Scenario) -> None:
    await audit(scenario.database, await insert_job(scenario.database))
    with pytest.raises(Conflict, match="append-only"):
        await scenario.database.execute("update holdfast.audit_log set actor = 'somebody else'")
    with pytest.raises(Conflict, match="append-only"):
        await scenario.database.execute("delete from holdfast.audit_log")


async def test_phase_completes_at_most_once_in_a_run(scenario: Scenario) -> None:
    await scenario.submit()
    await scenario.queue.settle([(await scenario.claim_one("extract"), Done())])
    with pytest.raises(asyncpg.UniqueViolationError, match="pipeline_phase_completed"):
        await scenario.database.execute(
            """
            insert into holdfast.pipeline_phase (job_id, document_id, organisation, pipeline, phase, run, token,
                                                 outcome, attempt, worker_id, started_at, ended_at)
            select job_id, document_id, organisation, pipeline, phase, run, token + 1, outcome, attempt, worker_id,
                   started_at, ended_at
            from holdfast.pipeline_phase
            """
        )
