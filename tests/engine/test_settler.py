"""Every ending has its own verdict: kept until it is written, or written as a failure that says why, never repeated."""

import asyncio
import secrets
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from holdfast.db.connection import Connection, Database, connect
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, GiveBack, Outcome
from holdfast.engine.policy import GENERATION, STRICT
from holdfast.settings import Settings
from tests.conftest import Clock
from tests.engine.scenario import LEASE_SECONDS, STORIES, begin
from tests.engine.working import all_final, jobs_of, pipeline_of, running, take_in, until, work_off

# What says nothing about the ending: conflicts, a server that is read-only, going, full, broken, or nobody knows what.
PASSING = ["40001", "40P01", "25006", "25P03", "57P01", "57P05", "53100", "53200", "58030", "XX000", "ZZ999"]
REFUSE_FIRST = """
create sequence public.tries;
create function public.refuse_first() returns trigger language plpgsql security definer as $$
begin
    if nextval('public.tries') <= 2 then
        raise exception 'not now' using errcode = '{state}';
    end if;
    return new;
end $$;
create trigger refuse_first before insert on holdfast.pipeline_phase
for each row execute function public.refuse_first();
"""


@pytest.mark.parametrize("saves", [False, True], ids=["plain", "saving"])
@pytest.mark.parametrize("state", PASSING)
async def test_finished_work_outlasts_errors_that_are_not_its_own(database: Database, state: str, saves: bool) -> None:
    calls = 0

    async def save(_: Connection) -> None:
        pass

    async def handle(_: Attempt) -> Done:
        nonlocal calls
        calls += 1
        return Done(cost_usd=Decimal("0.01"), save=save if saves else None)

    await database.execute(REFUSE_FIRST.replace("{state}", state))
    (job,) = await work_off(database, pipeline_of(handle))
    assert (job["state"], job["total_cost_usd"], calls) == ("done", Decimal("0.01"), 1)


async def test_save_that_takes_too_long_fails_alone_and_says_so(dsn: str, database: Database) -> None:
    async def slow(connection: Connection) -> None:
        await connection.execute("select pg_sleep(60)")

    async def handle(attempt: Attempt) -> Done:
        return Done(save=slow if attempt.document.metadata.get("slow") else None, cost_usd=Decimal("0.01"))

    pipeline = pipeline_of(handle, policy=STRICT)
    await take_in(database, pipeline, metadata={"slow": True})
    await take_in(database, pipeline, 20)
    async with connect(Settings(database_url=dsn), command_seconds=1) as impatient, running(impatient, pipeline):
        await until(lambda: _ended(database, 21))
    slow_one, *others = await jobs_of(database)
    assert {(job["state"], job["retry_count"], job["crash_count"]) for job in others} == {("done", 0, 0)}
    assert slow_one["state"] in ("failed", "deadletter")
    assert slow_one["last_error"]["category"] == "timeout"
    assert slow_one["last_error"]["error"].startswith("in its save a statement took longer than it may (1 s ")
    assert await database.fetchval("select sum(cost_usd) from holdfast.pipeline_phase") == Decimal("0.21")


async def test_statement_of_a_handler_that_takes_too_long_is_not_blamed_on_the_database(
    dsn: str, database: Database
) -> None:
    async with connect(Settings(database_url=dsn), command_seconds=1) as impatient:

        async def handle(_: Attempt) -> Done:
            await impatient.execute("select pg_sleep(60)")
            return Done()

        (job,) = await work_off(impatient, pipeline_of(handle, policy=STRICT))
    assert (job["state"], job["last_error"]["category"]) == ("failed", "timeout")
    assert job["last_error"]["error"].startswith("a statement took longer than it may (1 s ")
    assert "while the database answered others" in job["last_error"]["error"]


async def test_save_that_waits_for_a_lock_keeps_nobody_waiting(dsn: str, database: Database) -> None:
    await database.execute("create table public.kept (n integer)")

    async def blocked(connection: Connection) -> None:
        await connection.execute("insert into public.kept values (1)")

    async def handle(attempt: Attempt) -> Done:
        return Done(save=blocked if attempt.document.metadata.get("blocked") else None)

    pipeline = pipeline_of(handle)
    await take_in(database, pipeline, metadata={"blocked": True})
    await take_in(database, pipeline, 20)
    async with (
        connect(Settings(database_url=dsn), command_seconds=5) as impatient,
        database.transaction() as other,
        running(impatient, pipeline),
    ):
        await other.execute("lock table public.kept in exclusive mode")
        await until(lambda: _ended(database, 20))
        waiting, *others = await jobs_of(database)
        assert (waiting["state"], {job["state"] for job in others}) == ("working", {"done"})


async def test_slow_save_keeps_nobody_from_the_budget_it_pays_from(database: Database) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: Connection) -> None:
        begun.set()
        await go_on.wait()

    async def handle(attempt: Attempt) -> Done:
        return Done(save=slow if attempt.document.metadata.get("slow") else None, cost_usd=Decimal("0.01"))

    pipeline = pipeline_of(handle, budget="calls", estimate_usd=Decimal("0.02"), daily_limit_usd=Decimal(1))
    await take_in(database, pipeline, metadata={"slow": True})
    async with running(database, pipeline):
        await begun.wait()
        try:
            await take_in(database, pipeline, 5)
            await until(lambda: _ended(database, 5))
        finally:
            go_on.set()
        await until(lambda: all_final(database))
    row = await database.fetchrow("select reserved_usd, spent_usd from holdfast.budget_day")
    assert tuple(row or ()) == (0, Decimal("0.06"))


async def test_late_save_keeps_nobody_from_the_budget_it_pays_from(database: Database, clock: Clock) -> None:
    scenario = await begin(database, STORIES)
    await database.execute("select holdfast.set_budget('stories', 10)")
    await scenario.submit(2)
    late, other = await scenario.claim("enrich", 2)
    for attempt in (late, other):
        assert await scenario.reserve(attempt, "1")
        attempt.reserved = True
    await clock.advance(seconds=LEASE_SECONDS + 1)
    await scenario.queue.sweep(LEASE_SECONDS)
    done = Done(save=no_save, cost_usd=Decimal("0.25"))
    async with database.transaction() as saving:
        assert list((await scenario.queue.settle([(late, done)], saving)).values()) == ["settled"]
        async with asyncio.timeout(20):
            assert list((await scenario.settle([other], Done(cost_usd=Decimal("0.5")))).values()) == ["settled"]
        await scenario.queue.settle_saved(late, done, saving)
    row = await database.fetchrow("select reserved_usd, spent_usd from holdfast.budget_day")
    assert tuple(row or ()) == (0, Decimal("0.75"))
    assert await database.fetchval("select sum(cost_usd) from holdfast.pipeline_phase") == Decimal("0.75")


async def test_ending_that_something_stands_in_the_way_of_keeps_no_other_waiting(dsn: str, database: Database) -> None:
    claimed, go_on = 0, asyncio.Event()

    async def handle(_: Attempt) -> Done:
        nonlocal claimed
        claimed += 1
        await go_on.wait()
        return Done()

    async def all_claimed() -> bool:
        return claimed == 5

    pipeline = pipeline_of(handle)
    (first, *_) = await take_in(database, pipeline, 5)
    async with connect(Settings(database_url=dsn), command_seconds=1) as impatient, running(impatient, pipeline):
        await until(all_claimed)
        async with database.transaction() as other:
            await other.execute("select from holdfast.pipeline_job where id = $1 for update", first.job_id)
            go_on.set()
            await until(lambda: _ended(database, 4))
        await until(lambda: all_final(database))
    assert {job["state"] for job in await jobs_of(database)} == {"done"}


async def test_save_that_raises_ends_as_a_failure_with_its_error_and_its_cost(database: Database) -> None:
    calls = 0

    async def broken(_: Connection) -> None:
        raise ValueError("no such column here")

    async def handle(_: Attempt) -> Done:
        nonlocal calls
        calls += 1
        return Done(save=broken, cost_usd=Decimal("0.01"))

    (job,) = await work_off(database, pipeline_of(handle, policy=STRICT))
    assert (job["last_error"]["error_type"], job["last_error"]["error"]) == ("ValueError", "no such column here")
    assert job["total_cost_usd"] == calls * Decimal("0.01")


UNSTORABLE: dict[str, Callable[[], Outcome]] = {
    "cost beyond reason": lambda: Done(cost_usd=Decimal("1e12")),
    "cost that is no number": lambda: Done(cost_usd=Decimal("nan")),
    "endless wait": lambda: GiveBack("never", wait_seconds=float("inf")),
    "wait that is no number": lambda: GiveBack("never", wait_seconds=float("nan")),
    "wait beyond the calendar": lambda: GiveBack("never", wait_seconds=1e300),
    "output with NUL": lambda: Done({"text": "a\0b"}),
    "output that is no JSON": lambda: Done(object()),  # type: ignore[arg-type]
    "status nobody knows": lambda: Done(ends_as="no such status"),
    "status too long for an index": lambda: Done(ends_as=secrets.token_hex(8_000)),
    "reason with NUL": lambda: GiveBack("a\0b"),
    "output with a lone surrogate": lambda: Done({"text": "a\ud800b"}),
    "output that is not a number": lambda: Done({"n": float("nan")}),
    "output that is too large": lambda: Done({"text": "ä" * (9 << 20)}),
    "output of too many numbers": lambda: Done([0.1234567] * (2 << 20)),
    "output that is too large, with a save": lambda: Done({"text": "ä" * (9 << 20)}, save=no_save),
    "output with NUL, with a save": lambda: Done({"text": "a\0b"}, save=no_save),
    "metadata that is too large": lambda: Done(metadata={"text": "a" * (17 << 20)}),
    "metadata that is a list": lambda: Done(metadata=["x"]),  # type: ignore[arg-type]
    "status that is a number": lambda: Done(ends_as=5),  # type: ignore[arg-type]
    "cost that is a word": lambda: Done(cost_usd="abc"),  # type: ignore[arg-type]
    "cost that is a list": lambda: Done(cost_usd=[1]),  # type: ignore[arg-type]
    "cost below zero": lambda: Done(cost_usd=Decimal(-5)),
    "wait that is a word": lambda: GiveBack("later", wait_seconds="soon"),  # type: ignore[arg-type]
    "no outcome": lambda: "done",  # type: ignore[arg-type, return-value]
}


@pytest.mark.parametrize("outcome", UNSTORABLE.values(), ids=UNSTORABLE)
async def test_what_cannot_be_stored_is_one_charged_failure(database: Database, outcome: Callable[[], Outcome]) -> None:
    calls = 0

    async def handle(_: Attempt) -> Outcome:
        nonlocal calls
        calls += 1
        return outcome()

    # Under a policy that retries: what would fail again is paid for once.
    (job,) = await work_off(database, pipeline_of(handle, policy=GENERATION))
    assert (job["state"], job["ready_at"], job["error_code"]) == ("failed", None, "RESULT_NOT_STORABLE")
    assert (job["last_error"]["retryable"], calls) == (False, 1)
    attempts = await database.fetchval("select count(*) from holdfast.pipeline_phase")
    assert (attempts, await database.fetchval("select sum(charged::integer) from holdfast.error_log")) == (1, 1)


SAID: dict[str, tuple[Callable[[], Outcome], str]] = {
    "word": (lambda: Done(cost_usd="abc"), "a cost_usd of 'abc' is not an amount: return a number of USD"),  # type: ignore[arg-type]
    "negative": (lambda: Done(cost_usd=Decimal(-5)), "a cost_usd of -5 makes no sense: return 0 to 1,000,000 USD"),
    "list": (lambda: Done(metadata=["x"]), "metadata of type list: return a dict"),  # type: ignore[arg-type]
    "large": (lambda: Done("a" * (17 << 20)), "larger than 16 MB: put it into the store and hand on where it is"),
    "wait": (lambda: GiveBack("no", wait_seconds=float("inf")), "wait_seconds=inf: return 0 to 31,622,400 seconds"),
    "text": (lambda: "done", "str is no outcome: return Done(…), GiveBack(…) or Awaits(…)"),  # type: ignore[arg-type, return-value]
}


@pytest.mark.parametrize(("outcome", "said"), SAID.values(), ids=SAID)
async def test_what_cannot_be_stored_is_told_with_what_to_change(
    database: Database, outcome: Callable[[], Outcome], said: str
) -> None:
    async def handle(_: Attempt) -> Outcome:
        return outcome()

    (job,) = await work_off(database, pipeline_of(handle))
    assert job["last_error"]["error"].startswith('the handler of phase "only" returned what cannot be stored: ')
    assert said in job["last_error"]["error"]


@pytest.mark.parametrize("cost_usd", [0.01, "0.01", Decimal("0.01")], ids=repr)
async def test_cost_is_taken_for_what_it_shows(database: Database, cost_usd: Any) -> None:
    async def handle(_: Attempt) -> Done:
        return Done(cost_usd=cost_usd)

    (job,) = await work_off(database, pipeline_of(handle))
    assert (job["state"], job["total_cost_usd"]) == ("done", Decimal("0.01"))


@pytest.mark.parametrize("saves", [False, True], ids=["plain", "saving"])
async def test_cost_that_nobody_knows_counts_as_what_was_reserved(
    database: Database, saves: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(_: Attempt) -> Done:
        return Done(cost_usd=None, save=no_save if saves else None)

    caplog.set_level("DEBUG", "holdfast")
    (job,) = await work_off(database, pipeline_of(handle, budget="calls", estimate_usd=Decimal("0.02")))
    assert (job["state"], job["total_cost_usd"]) == ("done", 0)
    row = await database.fetchrow("select reserved_usd, spent_usd from holdfast.budget_day")
    assert tuple(row or ()) == (0, Decimal("0.02"))
    (attempt,) = await database.fetch("select outcome, error from holdfast.pipeline_phase")
    assert (attempt["outcome"], attempt["error"]["details"]) == ("completed", {"cost_is_known": False})
    (said,) = [record for record in caplog.records if record.message == "attempt.settled"]
    assert vars(said)["cost_usd"] is None


async def test_cost_of_what_cannot_be_stored_is_kept(database: Database) -> None:
    async def handle(_: Attempt) -> Done:
        return Done({"text": "a\0b"}, cost_usd=Decimal("0.01"))

    (job,) = await work_off(database, pipeline_of(handle, budget="calls", estimate_usd=Decimal("0.02")))
    assert (job["state"], job["total_cost_usd"]) == ("failed", Decimal("0.01"))
    assert await database.fetchval("select spent_usd from holdfast.budget_day") == Decimal("0.01")


async def test_smallest_failure_that_is_refused_is_offered_again_after_a_pause(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(_: Attempt) -> Done:
        return Done(cost_usd=Decimal("0.01"))

    await database.execute(REFUSE_FIRST.replace("{state}", "23514").replace("<= 2", "<= 5"))
    (job,) = await work_off(database, pipeline_of(handle, policy=STRICT))
    assert job["error_code"] == "ENDING_NOT_STORABLE"
    said = [record.message for record in caplog.records if record.message.startswith("attempt.not_written")]
    assert said == ["attempt.not_written"] * 2 + ["attempt.not_written_yet"] * 3


async def test_restarts_in_the_middle_of_paid_calls_never_pass_the_budget(database: Database) -> None:
    calls = 0
    begun = asyncio.Event()

    async def handle(_: Attempt) -> Done:
        nonlocal calls
        calls += 1
        begun.set()
        await asyncio.sleep(3600)
        return Done()

    pipeline = pipeline_of(handle, budget="calls", estimate_usd=Decimal("0.5"), paid=True)
    await take_in(database, pipeline)
    await database.execute("select holdfast.set_budget('calls', 1)")
    for _ in range(5):
        begun.clear()
        async with running(database, pipeline):
            waiting = [asyncio.create_task(begun.wait()), asyncio.create_task(until(lambda: _is_held(database)))]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in waiting:
                task.cancel()
    assert calls == 2
    row = await database.fetchrow("select reserved_usd, spent_usd from holdfast.budget_day")
    assert tuple(row or ()) == (0, 1)
    errors = await database.fetch("select error from holdfast.pipeline_phase where outcome = 'released' order by id")
    assert [row["error"].get("details") for row in errors[:2]] == [{"cost_is_known": False}] * 2


async def no_save(_: Connection) -> None:
    pass


async def _ended(database: Database, count: int) -> bool:
    return await database.fetchval("select count(*) from holdfast.pipeline_phase") >= count


async def _is_held(database: Database) -> bool:
    return await database.fetchval("select exists (select from holdfast.pipeline_job where state = 'held')")
