"""What a handler may do, and what becomes of it."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest

from holdfast.db.connection import Connection, Database
from holdfast.engine.attempt import Attempt
from holdfast.engine.isolation import Limits
from holdfast.engine.overview import Overview
from holdfast.engine.pipeline import Done, GiveBack, Phase, Pipeline
from holdfast.engine.policy import STRICT, Policy
from holdfast.engine.worker import Worker
from holdfast.errors import EmptyText
from tests.conftest import Clock
from tests.engine.isolated_handlers import shout
from tests.engine.working import QUICK, all_final, jobs_of, pipeline_of, running, take_in, until, work_off

IMPATIENT = Policy.retrying("impatient", (0, 0, 0))


async def test_async_handler_passes_its_output_to_the_next_phase(database: Database) -> None:
    async def count(attempt: Attempt) -> Done:
        assert isinstance(attempt.input, dict)
        return Done({"n": int(str(attempt.input["n"])) + 1})

    pipeline = Pipeline("test", phases=tuple(Phase(name=n, handler=count, done=f"{n}_done") for n in ("a", "b", "c")))
    (job,) = await work_off(database, pipeline, input={"n": 0})
    assert (job["state"], job["status"], job["input"]) == ("done", "c_done", {"n": 3})


async def test_plain_handler_runs_in_a_thread_of_its_own(database: Database) -> None:
    threads: set[str] = set()

    def handle(attempt: Attempt) -> Done:
        threads.add(threading.current_thread().name)
        return Done()

    (job,) = await work_off(database, pipeline_of(handle))
    assert job["state"] == "done"
    assert threads == {f"only-{job['id']}"}


async def test_isolated_handler_runs_in_a_child_process(database: Database) -> None:
    (job,) = await work_off(database, pipeline_of(shout, isolated=Limits()), input="quiet")
    assert (job["state"], job["input"]) == ("done", "QUIET")


async def test_save_is_written_with_the_settlement(database: Database) -> None:
    await database.execute("create table kept (job_id bigint)")

    async def handle(attempt: Attempt) -> Done:
        async def save(connection: Connection) -> None:
            await connection.execute("insert into kept values ($1)", attempt.job_id)

        return Done(save=save)

    jobs = await work_off(database, pipeline_of(handle), 30)
    assert {row["job_id"] for row in await database.fetch("select job_id from kept")} == {job["id"] for job in jobs}


async def test_failing_save_leaves_nothing_behind_and_fails_only_its_own_job(database: Database) -> None:
    await database.execute("create table kept (job_id bigint)")

    async def handle(attempt: Attempt) -> Done:
        async def save(connection: Connection) -> None:
            await connection.execute("insert into kept values ($1)", attempt.job_id)
            if attempt.document.source_name == "bad":
                await connection.execute("select 1 / 0")

        return Done(save=save)

    pipeline = pipeline_of(handle, policy=STRICT)
    await take_in(database, pipeline, 5, source_name="good")
    (bad,) = await take_in(database, pipeline, source_name="bad")
    await Worker(database, [pipeline], pace=QUICK).run(until_idle=True)
    states = {job["id"]: job["state"] for job in await jobs_of(database)}
    assert states.pop(bad.job_id) == "failed"
    assert set(states.values()) == {"done"}
    assert await database.fetchval("select count(*) from kept where job_id = $1", bad.job_id) == 0
    assert await database.fetchval("select count(*) from kept") == 5


@pytest.mark.parametrize("nonsense", [None, 42, {"output": 1}, Exception("returned"), Done(cost_usd=Decimal("NaN"))])
async def test_handler_that_returns_nonsense_fails_with_a_clear_error(database: Database, nonsense: Any) -> None:
    async def handle(attempt: Attempt) -> Any:
        return nonsense

    (job,) = await work_off(database, pipeline_of(handle, policy=STRICT))
    assert job["state"] == "failed"
    assert 'the handler of phase "only" returned' in job["last_error"]["error"]


@pytest.mark.parametrize(
    "output",
    ["nul \x00", "\ud800", float("nan"), float("inf"), object()],
    ids=["nul", "lone surrogate", "nan", "infinity", "no json"],
)
async def test_output_that_cannot_be_stored_fails_its_job_and_no_other(database: Database, output: Any) -> None:
    async def handle(attempt: Attempt) -> Done:
        return Done(output if attempt.document.source_name == "bad" else "fine")

    pipeline = pipeline_of(handle, policy=STRICT)
    await take_in(database, pipeline, 3, source_name="good")
    (bad,) = await take_in(database, pipeline, source_name="bad")
    await Worker(database, [pipeline], pace=QUICK).run(until_idle=True)
    states = {job["id"]: job["state"] for job in await jobs_of(database)}
    assert states.pop(bad.job_id) == "failed"
    assert set(states.values()) == {"done"}


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), BaseException("bare"), asyncio.CancelledError()])
@pytest.mark.parametrize("threaded", [False, True], ids=["async", "thread"])
async def test_worker_survives_whatever_a_handler_raises(
    database: Database, error: BaseException, threaded: bool
) -> None:
    async def raise_it(attempt: Attempt) -> Done:
        raise error

    def raise_it_in_thread(attempt: Attempt) -> Done:
        raise error

    (job,) = await work_off(database, pipeline_of(raise_it_in_thread if threaded else raise_it, policy=STRICT))
    assert job["state"] == "failed"
    assert job["last_error"]["error_type"] == type(error).__name__


async def test_money_spent_on_what_cannot_be_stored_is_still_accounted_for(database: Database) -> None:
    async def handle(attempt: Attempt) -> Done:
        return Done("nul \x00", cost_usd=Decimal("0.25"))

    (job,) = await work_off(database, pipeline_of(handle, policy=STRICT))
    assert (job["state"], job["total_cost_usd"]) == ("failed", Decimal("0.25"))


async def test_failure_is_retried_until_it_passes(database: Database) -> None:
    async def handle(attempt: Attempt) -> Done:
        if attempt.number < 3:
            raise ConnectionResetError("again")
        return Done(cost_usd=Decimal("0.25"))

    (job,) = await work_off(database, pipeline_of(handle, policy=IMPATIENT))
    assert (job["state"], job["last_error"], job["total_cost_usd"]) == ("done", None, Decimal("0.25"))
    outcomes = await database.fetch("select outcome, parent_phase_id, id from holdfast.pipeline_phase order by id")
    assert [row["outcome"] for row in outcomes] == ["failed", "failed", "completed"]
    assert [row["parent_phase_id"] for row in outcomes] == [None, outcomes[0]["id"], outcomes[1]["id"]]


async def test_permanent_failure_is_final_at_once(database: Database) -> None:
    async def handle(attempt: Attempt) -> Done:
        raise EmptyText("no text on any of 3 pages", details={"pages": 3})

    (job,) = await work_off(database, pipeline_of(handle, component="parse"))
    assert (job["state"], job["ready_at"]) == ("failed", None)
    assert job["last_error"]["retryable"] is False
    assert job["last_error"]["component"] == "parse"
    assert job["last_error"]["details"]["pages"] == 3


async def test_give_back_is_not_charged(database: Database) -> None:
    async def handle(attempt: Attempt) -> Done | GiveBack:
        return Done() if attempt.token > 1 else GiveBack("the model is still loading")

    (job,) = await work_off(database, pipeline_of(handle))
    assert (job["state"], job["retry_count"]) == ("done", 0)
    outcomes = await database.fetch("select outcome from holdfast.pipeline_phase order by id")
    assert [row["outcome"] for row in outcomes] == ["released", "completed"]


async def test_job_given_back_with_a_wait_is_held_until_then(database: Database, clock: Clock) -> None:
    async def handle(attempt: Attempt) -> Done | GiveBack:
        return Done() if attempt.token > 1 else GiveBack("2 members are under way", wait_seconds=60)

    pipeline = pipeline_of(handle)
    (job,) = await work_off(database, pipeline)
    assert (job["state"], job["retry_count"], job["crash_count"]) == ("held", 0, 0)
    card = await Overview(database).job(job["id"])
    assert card["next"].endswith("2 members are under way")
    await clock.advance(seconds=61)
    await Worker(database, [pipeline]).run(until_idle=True)
    assert await database.fetchval("select state from holdfast.pipeline_job") == "done"


async def test_phase_may_end_its_job_as_a_duplicate(database: Database) -> None:
    async def first(attempt: Attempt) -> Done:
        return Done(ends_as="duplicate")

    async def second(attempt: Attempt) -> Done:
        raise AssertionError("no phase follows")

    phases = (Phase(name="first", handler=first, done="begun"), Phase(name="second", handler=second, done="ended"))
    (job,) = await work_off(database, Pipeline("short", phases))
    assert (job["state"], job["status"], job["phase"]) == ("done", "duplicate", "first")


@pytest.mark.parametrize("kind", ["async", "stubborn", "thread"])
async def test_attempt_past_its_limit_ends_as_timeout_and_frees_its_slot(database: Database, kind: str) -> None:
    async def hang(attempt: Attempt) -> Done:
        await asyncio.sleep(60)
        return Done()

    async def hang_on(attempt: Attempt) -> Done:
        for _ in range(40):
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05)
        return Done()

    def hang_in_thread(attempt: Attempt) -> Done:
        while not attempt.ended:
            time.sleep(0.05)
        return Done()

    handlers: dict[str, Callable[..., Any]] = {"async": hang, "stubborn": hang_on, "thread": hang_in_thread}
    pipeline = pipeline_of(handlers[kind], policy=Policy.retrying("once", (0,)), limit_seconds=0.3, concurrency=1)
    await take_in(database, pipeline, 2)
    async with running(database, pipeline):
        await until(lambda: all_final(database))
    for job in await jobs_of(database):
        assert job["state"] == "deadletter"
        assert job["error_code"] == "TIMEOUT_MAX_RETRIES"
        assert job["error_meta"]["threshold_seconds"] == 0.3


async def test_handler_that_prints_megabytes_is_only_loud(database: Database, capsys: Any) -> None:
    def handle(attempt: Attempt) -> Done:
        for _ in range(50):
            sys.stdout.write("x" * 100_000)
        return Done()

    (job,) = await work_off(database, pipeline_of(handle))
    assert job["state"] == "done"
