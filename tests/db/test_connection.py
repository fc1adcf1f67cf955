"""The way to the database: what it promises, and whose errors come out of it."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from holdfast.db.connection import Connection, Database, connect
from holdfast.errors import Conflict, DatabaseUnavailable, DatabaseUnusable, InvalidInput, NotFound
from holdfast.settings import Settings
from tests.conftest import OwnServer, Server
from tests.endpoint import with_database, with_user
from tests.proxy import Proxy


def _nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


async def test_json_goes_in_and_out_as_values(database: Database) -> None:
    value = {"name": "naïve", "list": [1, 2.5, None, True]}
    assert await database.fetchval("select $1::jsonb", value) == value


async def test_failing_block_rolls_back(database: Database) -> None:
    async def fail() -> None:
        async with database.transaction() as connection:
            await connection.execute("create table gone ()")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    assert await database.fetchval("select to_regclass('gone')") is None


async def test_connection_names_the_application(database: Database) -> None:
    assert await database.fetchval("select current_setting('application_name')") == "holdfast"


@pytest.mark.parametrize(("state", "error"), [("HF400", InvalidInput), ("HF404", NotFound), ("HF409", Conflict)])
async def test_error_raised_by_our_sql_keeps_its_text(database: Database, state: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="what; which; what next"):
        await database.execute(
            f"do $$ begin raise 'what' using errcode = '{state}', detail = 'which', hint = 'what next'; end $$"
        )


async def test_violated_constraint_does_not_quote_the_row(database: Database) -> None:
    await database.execute("create table patient (note text check (length(note) < 20))")

    with pytest.raises(asyncpg.CheckViolationError, match="violates check constraint") as refused:
        await database.execute("insert into patient values ($1)", "diagnosed on 3 March")
    assert "diagnosed" not in str(refused.value)


@pytest.mark.parametrize(
    "value",
    [
        {"nul": "\0"},
        {"lone surrogate": "\ud800"},
        {"not a number": float("nan")},
        pytest.param(_nested(5000), id="nested"),
        pytest.param(object(), id="no JSON"),
    ],
    ids=str,
)
async def test_value_json_cannot_hold_is_invalid_input(database: Database, value: object) -> None:
    with pytest.raises(InvalidInput):
        await database.fetchval("select $1::jsonb", value)


@pytest.mark.parametrize("value", ["nul\0", "lone \ud800 surrogate"], ids=ascii)
async def test_text_the_database_cannot_hold_is_invalid_input(database: Database, value: str) -> None:
    with pytest.raises(InvalidInput):
        await database.fetchval("select $1::text", value)


async def test_connection_works_on_after_a_refused_value(database: Database) -> None:
    with pytest.raises(InvalidInput):
        await database.fetchval("select $1::jsonb", _nested(5000))
    assert await database.fetchval("select 1") == 1


async def test_error_of_the_callers_own_passes_through_a_transaction(database: Database) -> None:
    with pytest.raises(ConnectionRefusedError):
        async with database.transaction():
            raise ConnectionRefusedError("not about the database")


async def test_database_that_is_down_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="cannot reach the database"):
        async with connect(Settings(database_url=f"postgresql://postgres@/postgres?host={tmp_path}")):
            pass


class AgeingProxy(Proxy):
    """Makes a server look like PostgreSQL 14."""

    def rewrite(self, data: bytes) -> bytes:
        return re.sub(rb"(server_version\x00)\d\d", rb"\g<1>14", data)


async def test_server_that_is_too_old_is_unusable(dsn: str) -> None:
    async with AgeingProxy(dsn) as proxy:
        with pytest.raises(DatabaseUnusable, match="PostgreSQL 14: upgrade it to 15 or newer"):
            async with connect(Settings(database_url=proxy.dsn)):
                pass


async def test_missing_database_is_unusable(server: Server) -> None:
    with pytest.raises(DatabaseUnusable, match="correct the database's name"):
        async with connect(Settings(database_url=with_database(server.dsn, "no_such_database"))):
            pass


async def test_unknown_role_is_unusable(dsn: str) -> None:
    with pytest.raises(DatabaseUnusable):
        async with connect(Settings(database_url=with_user(dsn, "no_such_role"))):
            pass


async def test_unparsable_url_is_invalid_input() -> None:
    with pytest.raises(InvalidInput, match="HOLDFAST_DATABASE_URL"):
        async with connect(Settings(database_url="postgresql://host:port/database")):
            pass


async def test_missing_right_is_unusable(guest: str, dsn: str) -> None:
    async with connect(Settings(database_url=with_user(dsn, guest))) as database:
        with pytest.raises(DatabaseUnusable, match="permission denied"):
            await database.execute("create table holdfast.mine ()")


async def test_database_without_schema_says_to_migrate(empty_dsn: str) -> None:
    async with connect(Settings(database_url=empty_dsn)) as database:
        with pytest.raises(DatabaseUnusable, match="run `holdfast migrate`"):
            await database.fetch("select * from holdfast.pipeline_job")


async def test_server_out_of_connections_is_unavailable(guest: str, dsn: str, database: Database) -> None:
    name = await database.fetchval("select current_database()")
    await database.execute(f'alter database "{name}" connection limit 0')
    with pytest.raises(DatabaseUnavailable, match="too many connections"):
        async with connect(Settings(database_url=with_user(dsn, guest))):
            pass


async def test_call_waits_no_longer_than_allowed_for_a_free_connection(dsn: str) -> None:
    async with connect(Settings(database_url=dsn, pool_size=1)) as database, database.transaction():
        # Who holds the connection had all the time it took to get it, however slow the machine is.
        routes = database._routes
        impatient = Database(database._pool, replace(routes, work=replace(routes.work, command_seconds=0.2)))
        with pytest.raises(DatabaseUnavailable):
            await impatient.fetchval("select 1")


async def test_cut_connection_is_unavailable_then_replaced(dsn: str) -> None:
    async with Proxy(dsn) as proxy, connect(Settings(database_url=proxy.dsn, pool_size=1)) as database:
        await database.fetchval("select 1")
        call = asyncio.ensure_future(database.fetchval("select pg_sleep(60)"))
        await asyncio.sleep(0.2)
        proxy.cut()
        with pytest.raises(DatabaseUnavailable):
            await call
        assert await database.fetchval("select 1") == 1


async def test_commit_obeyed_but_unanswered_is_unavailable(dsn: str, database: Database) -> None:
    await database.execute("create table kept (value integer)")
    async with Proxy(dsn) as proxy, connect(Settings(database_url=proxy.dsn)) as through:
        proxy.cut_at(b"COMMIT", delivered=True)
        with pytest.raises(DatabaseUnavailable):
            async with through.transaction() as connection:
                await connection.execute("insert into kept values (1)")
    assert await database.fetchval("select count(*) from kept") == 1


async def test_commit_that_never_arrived_is_unavailable(dsn: str, database: Database) -> None:
    await database.execute("create table kept (value integer)")
    async with Proxy(dsn) as proxy, connect(Settings(database_url=proxy.dsn)) as through:
        proxy.cut_at(b"COMMIT", delivered=False)
        with pytest.raises(DatabaseUnavailable):
            async with through.transaction() as connection:
                await connection.execute("insert into kept values (1)")
    assert await database.fetchval("select count(*) from kept") == 0


async def test_silent_partition_is_noticed(dsn: str) -> None:
    async with Proxy(dsn) as proxy, _answering_within(0.5, proxy.dsn) as database:
        proxy.blackhole()
        with pytest.raises(DatabaseUnavailable):
            await database.fetchval("select 1")


@pytest.mark.parametrize("block", [Database.statement, Database.transaction])
async def test_cancelled_borrower_of_a_silent_server_ends_as_cancelled(
    dsn: str, block: Callable[[Database], AbstractAsyncContextManager[Connection]]
) -> None:
    asked = asyncio.Event()

    async def ask(database: Database) -> None:
        async with block(database) as connection:
            asked.set()
            await connection.execute("select pg_sleep(60)")

    async with Proxy(dsn) as proxy, _answering_within(0.5, proxy.dsn) as database:
        asking = asyncio.create_task(ask(database))
        await asked.wait()
        proxy.blackhole()
        asking.cancel()
        # Whoever waits for a server that is away would take any other end for a reason to try again.
        await asyncio.wait({asking}, timeout=30)
        assert asking.cancelled()


@asynccontextmanager
async def _answering_within(seconds: float, dsn: str) -> AsyncIterator[Database]:
    """A database that has just answered within so short a limit: on a busy machine not always at the first try."""
    async with AsyncExitStack() as stack:
        while True:
            with suppress(DatabaseUnavailable):
                connecting = connect(Settings(database_url=dsn, pool_size=1), command_seconds=seconds)
                database = await stack.enter_async_context(connecting)
                await database.fetchval("select 1")
                break
        yield database


async def test_restart_is_unavailable_never_something_else(own_server: OwnServer) -> None:
    async with connect(own_server.settings) as database:
        await database.fetchval("select 1")
        restart = asyncio.create_task(asyncio.to_thread(own_server.server.restart, "immediate"))
        while not restart.done():
            try:
                await database.fetchval("select pg_sleep(0.01)")
            except DatabaseUnavailable:
                await asyncio.sleep(0.01)
        await restart
        assert await _eventually_answers(database)


async def test_listener_hears_notifications(database: Database) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    listening = asyncio.create_task(database.listen("news", heard.put_nowait))
    try:
        assert await _first_heard(database, heard) == "hello"
    finally:
        listening.cancel()


async def test_listener_says_what_ended_its_connection_even_if_that_has_no_words(
    dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Proxy(dsn) as proxy, _answering_within(0.5, proxy.dsn) as database:
        proxy.answer_delay_seconds = 1.0
        listening = asyncio.create_task(database.listen("news", lambda _: None))
        async with asyncio.timeout(60):
            while not (said := [record for record in caplog.records if record.message == "listening.interrupted"]):
                await asyncio.sleep(0.05)
        listening.cancel()
    assert said[0].__dict__["error"] == "TimeoutError"


async def test_read_only_database_says_whom_to_ask(database: Database) -> None:
    with pytest.raises(DatabaseUnavailable, match="point HOLDFAST_DATABASE_URL at the primary"):
        await database.execute("do $$ begin set transaction read only; create table public.refused (); end $$")


async def test_listener_comes_back_after_its_connection_was_killed(database: Database) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    listening = asyncio.create_task(database.listen("news", heard.put_nowait))
    try:
        await _first_heard(database, heard)
        await database.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        )
        while not heard.empty():
            heard.get_nowait()
        assert await _first_heard(database, heard) == "hello"
    finally:
        listening.cancel()


async def _first_heard(database: Database, heard: "asyncio.Queue[str]") -> str:
    """Notify until it is heard: nobody can know when a listener has begun."""
    while True:
        await database.execute("notify news, 'hello'")
        try:
            return await asyncio.wait_for(heard.get(), 0.2)
        except TimeoutError:
            continue


async def _eventually_answers(database: Database) -> bool:
    while True:
        try:
            return await database.fetchval("select true")
        except DatabaseUnavailable:
            await asyncio.sleep(0.05)


async def test_statement_cache_survives_replaced_functions(database: Database) -> None:
    for answer in (1, 2):
        await database.execute(
            f"create or replace function public.answer() returns int language sql as 'select {answer}'"
        )
        assert await database.fetchval("select public.answer()") == answer


async def test_error_we_do_not_explain_passes_unchanged(database: Database) -> None:
    with pytest.raises(asyncpg.DivisionByZeroError):
        await database.fetchval("select 1 / 0")
