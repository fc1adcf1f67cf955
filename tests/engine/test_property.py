"""The engine against its model: any verb in any order, on a real PostgreSQL, and proof that the proof can fail."""

import asyncio
import os
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import Phase as Part
from hypothesis.stateful import run_state_machine_as_test

from holdfast.db.connection import Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, Outcome, Phase, Pipeline
from holdfast.engine.policy import ENRICHMENT, STORAGE, Policy
from holdfast.engine.queue import Queue
from tests.engine.driver import LEASE
from tests.engine.machine import QueueMachine
from tests.engine.model_rules import PIPELINE

# In parts, which run side by side.
PARTS = 6
SCHEDULES = int(os.environ.get("HOLDFAST_TEST_SCHEDULES", "2000"))
EXAMPLES = int(os.environ.get("HOLDFAST_TEST_EXAMPLES", "40"))
RULES = settings(
    max_examples=EXAMPLES,
    stateful_step_count=50,
    deadline=None,
    # The same examples in every run, unless more were asked for than were ever tried.
    derandomize="HOLDFAST_TEST_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
)

STANDING_CLOCK = """
create table public.test_clock (at timestamptz not null);
insert into public.test_clock values ('2030-01-01 12:00Z');
grant select on public.test_clock to public;
create or replace function holdfast.clock() returns timestamptz
language sql volatile as $$ select at from public.test_clock $$;
"""


async def _never_called(attempt: Attempt) -> Outcome:
    return Done()


PROOF = Pipeline(
    PIPELINE,
    starts="uploaded",
    phases=(
        Phase(
            name="extract",
            handler=_never_called,
            queued="parse_queued",
            working="parsing",
            done="parsed",
            policy=Policy.retrying("patient", (60, 300, 900)),
            limit_seconds=600,
        ),
        Phase(
            name="enrich",
            handler=_never_called,
            done="enriched",
            policy=ENRICHMENT,
            limit_seconds=120,
            provider="oracle",
            budget="enrichment",
        ),
        Phase(name="store", handler=_never_called, done="complete", policy=STORAGE, limit_seconds=60),
    ),
)


@pytest.fixture
async def machine(database: Database, dsn: str) -> type[QueueMachine]:
    """The state machine, on a database of its own whose clock stands still."""
    # Nobody is declared lost by a worker before the server itself has been there for a lease.
    while await database.fetchval("select clock_timestamp() - pg_postmaster_start_time() <= $1", LEASE):
        await asyncio.sleep(0.2)
    await Queue(database).register([PROOF])
    await database.execute(STANDING_CLOCK)
    return QueueMachine.on(dsn)


@pytest.mark.timeout(900)
def test_engine_does_what_the_model_says(machine: type[QueueMachine]) -> None:
    with machine.connected():
        run_state_machine_as_test(machine, settings=RULES)


@pytest.mark.thorough
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
def test_engine_does_what_the_model_says_in_many_schedules(machine: type[QueueMachine], part: int) -> None:
    many = settings(RULES, max_examples=SCHEDULES // PARTS, derandomize=False)
    with machine.connected():
        run_state_machine_as_test(seed(part)(machine), settings=many)


@dataclass(frozen=True, slots=True)
class Sabotage:
    """A guard to take out of a function: the text that makes it one, and what else stands in the way."""

    name: str
    function: str
    guard: str
    besides: str = "select"


SABOTAGES = [
    Sabotage("fencing", "settle(jsonb)", " and token = named_token"),
    Sabotage("the fencing of failures", "claimed_job(bigint, bigint)", " and j.token = p_token"),
    Sabotage(
        "the judge's own silence",
        "may_judge(text, double precision, timestamp with time zone)",
        " and in_touch_since <= p_now - make_interval(secs => p_lease_seconds)",
    ),
    Sabotage(
        "what came late", "learn_cost(bigint, bigint, numeric)", "perform settle_entry(p_job_id, p_token, v_cost);"
    ),
    Sabotage(
        "the sweep's guard",
        "sweep(double precision, text)",
        " and (w.lost_at is not null or w.stopped_at is not null)",
    ),
    Sabotage(
        "the reservation",
        "reserve_budget(bigint, bigint, numeric)",
        " and v_missing <= budget_left(b, d)",
        besides="alter table holdfast.budget_day drop constraint budget_is_never_passed",
    ),
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda sabotage: sabotage.name)
def test_model_notices_when_a_guard_is_taken_out(machine: type[QueueMachine], sabotage: Sabotage) -> None:
    with machine.connected() as connection:
        _take_out(connection, sabotage)
        # The first proof is enough: nothing needs to be made small for a reader.
        searching = settings(RULES, max_examples=1000, phases=[Part.generate])
        with pytest.raises((AssertionError, psycopg.errors.UniqueViolation)):
            run_state_machine_as_test(machine, settings=searching)


def _take_out(connection: "psycopg.Connection[Any]", sabotage: Sabotage) -> None:
    cursor = connection.execute("select pg_get_functiondef(%s::regprocedure)", [f"holdfast.{sabotage.function}"])
    (definition,) = cursor.fetchone() or ("",)
    assert sabotage.guard in definition, f"{sabotage.name} is worded differently now: adapt the sabotage"
    connection.execute(definition.replace(sabotage.guard, "").encode())
    connection.execute(sabotage.besides.encode())
