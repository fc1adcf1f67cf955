"""A save that hangs, escapes or ends what is not its own harms its own job only, and is named by its failure."""

import asyncio
import contextlib
from decimal import Decimal
from typing import Any

import asyncpg
import pytest

from holdfast.db.connection import Connection, Database, connect
from holdfast.engine import saves
from holdfast.engine.attempt import Attempt
from holdfast.engine.pipeline import Done, Save
from holdfast.engine.policy import STRICT
from holdfast.settings import Settings
from tests.engine.working import jobs_of, pipeline_of, running, take_in, until, work_off

COST = Decimal("0.01")


async def insert(connection: Connection) -> None:
    await connection.execute("insert into public.saved values (1)")


@pytest.mark.parametrize("ignores_its_end", [False, True])
async def test_saves_that_hang_keep_no_other_from_being_recorded(
    dsn: str, database: Database, monkeypatch: pytest.MonkeyPatch, ignores_its_end: bool
) -> None:
    over = asyncio.Event()

    async def hang(_: Connection) -> None:
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                if not ignores_its_end:
                    raise

    monkeypatch.setattr(saves, "SHORT_SECONDS", 0.5)
    monkeypatch.setattr(saves, "BREAK_OFF_SECONDS", 0.2)
    await database.execute("create table public.saved (n integer)")

    async def handle(attempt: Attempt) -> Done:
        return Done(save=hang if attempt.document.metadata.get("hangs") else insert, cost_usd=COST)

    # More of them than connections and, twice over, than slots.
    pipeline = pipeline_of(handle, policy=STRICT, concurrency=2)
    await take_in(database, pipeline, 8, metadata={"hangs": True})
    settings = Settings(database_url=dsn, pool_size=4)
    async with connect(settings, command_seconds=10, reserved=2) as workers, running(workers, pipeline):
        await until(lambda: _are_working(database, 8))
        await take_in(database, pipeline, 20)
        await until(lambda: _are_recorded(database, 20))
        over.set()
    assert await database.fetchval("select count(*) from public.saved") == 20
    assert {job["state"] for job in (await jobs_of(database))[8:]} == {"done"}


async def test_save_that_hangs_fails_with_an_error_that_says_so_and_its_cost(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saves, "SHORT_SECONDS", 0.2)
    monkeypatch.setattr(saves, "SAVE_SECONDS", 1.0)

    async def hang(_: Connection) -> None:
        await asyncio.sleep(3600)

    async def handle(_: Attempt) -> Done:
        return Done(save=hang, cost_usd=COST)

    for job in await work_off(database, pipeline_of(handle, policy=STRICT), 6):
        assert (job["state"], job["total_cost_usd"]) == ("failed", COST)
        assert job["last_error"]["category"] == "timeout"
        assert job["last_error"]["error"].startswith("its save did not return within 1 s")
    assert await database.fetchval("select sum(charged::integer) from holdfast.error_log") == 6


ESCAPING = [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()]


@pytest.mark.parametrize("error", ESCAPING, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("place", ["save", "handler", "thread"])
async def test_what_is_no_exception_is_a_failed_attempt_and_no_end_of_the_worker(
    database: Database, place: str, error: BaseException
) -> None:
    async def escape(_: Connection) -> None:
        raise error

    async def handle(attempt: Attempt) -> Done:
        if not attempt.document.metadata.get("escapes"):
            return Done(save=no_save, cost_usd=COST)
        if place == "handler":
            raise error
        return Done(save=escape, cost_usd=COST)

    def handle_in_thread(attempt: Attempt) -> Done:
        if attempt.document.metadata.get("escapes"):
            raise error
        return Done(save=no_save, cost_usd=COST)

    pipeline = pipeline_of(handle_in_thread if place == "thread" else handle, policy=STRICT)
    await take_in(database, pipeline, metadata={"escapes": True})
    escaped, *others = await work_off(database, pipeline, 5)
    assert {job["state"] for job in others} == {"done"}
    assert (escaped["state"], escaped["last_error"]["error_type"]) == ("failed", type(error).__name__)
    assert escaped["total_cost_usd"] == (COST if place == "save" else 0)


@pytest.mark.parametrize("ends", [("rollback",), ("rollback", "begin"), ("begin; rollback; begin",)], ids=str)
@pytest.mark.parametrize("raises", [False, True])
async def test_save_that_rolls_back_is_one_failure_that_names_it(
    database: Database, ends: tuple[str, ...], raises: bool
) -> None:
    await database.execute("create table public.saved (n integer)")

    async def end(connection: Connection) -> None:
        for statement in ends:
            await connection.execute(statement)
        await insert(connection)
        if raises:
            raise ValueError("and then this")

    job = await _save_once(database, end)
    assert (job["state"], job["total_cost_usd"]) == ("failed", COST)
    assert raises or "its save ended the transaction" in job["last_error"]["error"]
    assert await database.fetchval("select sum(charged::integer) from holdfast.error_log") == 1
    assert await _money(database) == (0, COST)


@pytest.mark.parametrize("ends", ["commit", "commit; begin"])
async def test_save_that_commits_keeps_what_it_committed_and_its_cost_is_counted_once(
    database: Database, ends: str
) -> None:
    async def end(connection: Connection) -> None:
        await connection.execute(ends)
        raise ValueError("and then this")

    job = await _save_once(database, end)
    assert (job["state"], job["total_cost_usd"]) == ("done", COST)
    assert await _money(database) == (0, COST)


async def test_save_that_goes_on_after_an_error_is_one_failure_that_says_why(database: Database) -> None:
    async def ignore(connection: Connection) -> None:
        with contextlib.suppress(asyncpg.PostgresError):
            await connection.execute("insert into public.nowhere values (1)")

    job = await _save_once(database, ignore)
    assert (job["state"], job["total_cost_usd"]) == ("failed", COST)
    assert "its save caught an error of the database" in job["last_error"]["error"]
    assert await _money(database) == (0, COST)


async def _save_once(database: Database, save: Save) -> Any:
    """The job of which this is the save, when it is over. A second call would end it as cancelled."""
    calls = 0

    async def handle(attempt: Attempt) -> Done:
        nonlocal calls
        calls += 1
        if calls > 1:
            await database.execute("select holdfast.cancel(array[$1::bigint], 'test')", attempt.job_id)
        return Done(save=save, cost_usd=COST)

    pipeline = pipeline_of(handle, policy=STRICT, budget="calls", estimate_usd=COST * 2, daily_limit_usd=Decimal(1))
    (job,) = await work_off(database, pipeline)
    assert calls == 1
    return job


async def _money(database: Database) -> tuple[Any, ...]:
    return tuple(await database.fetchrow("select reserved_usd, spent_usd from holdfast.budget_day") or ())


async def no_save(_: Connection) -> None:
    pass


async def _are_recorded(database: Database, count: int) -> bool:
    return await database.fetchval("select count(*) from holdfast.pipeline_phase") >= count


async def _are_working(database: Database, count: int) -> bool:
    return await database.fetchval("select count(*) from holdfast.pipeline_job where state = 'working'") >= count
