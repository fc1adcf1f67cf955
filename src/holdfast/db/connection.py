"""The one way to the database: a pool whose errors are ours."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import asyncpg

from holdfast.db.embedded import EmbeddedServer, joined
from holdfast.db.listening import Listener, keep_listening
from holdfast.db.opening import OLDEST_SERVER, Opener, find_pooler
from holdfast.db.pauses import Pauses
from holdfast.db.pool import Connection, ConnectionPool, open_pool
from holdfast.db.routes import Routes
from holdfast.db.translation import translate
from holdfast.dsn import parse_dsn
from holdfast.errors import NoConnection, StatementTimedOut
from holdfast.event_loop import in_reserved_thread
from holdfast.settings import Settings

__all__ = ["COMMAND_SECONDS", "CONNECT_SECONDS", "Connection", "Database", "connect", "connect_directly"]

CONNECT_SECONDS = 5.0
COMMAND_SECONDS = 30.0

Manner: TypeAlias = Literal["usual", "urgent", "vital", "patient"]

_log = logging.getLogger("holdfast")


class Database:
    """A pool of connections.

    Nothing is repeated on the caller's behalf: after DatabaseUnavailable a write may or may not have
    happened, and only the caller knows how to find out.
    """

    def __init__(
        self, pool: ConnectionPool, routes: Routes, *, tenant: str | None = None, manner: Manner = "usual"
    ) -> None:
        self._pool = pool
        self._routes = routes
        self._tenant = tenant
        self._manner = manner

    def confined_to(self, organisation: str) -> "Database":
        """The same database as one organisation sees it: every other one's rows are not there."""
        return Database(self._pool, self._routes, tenant=organisation)

    @property
    def urgent(self) -> "Database":
        """The same database for what a worker says to the queue: served first, from connections left to it."""
        return Database(self._pool, self._routes, manner="urgent")

    @property
    def vital(self) -> "Database":
        """The same database for a heartbeat, which waits for nothing else that a worker does."""
        return Database(self._pool, self._routes, manner="vital")

    @property
    def patient(self) -> "Database":
        """The same database for what has perhaps paid for what it wants to store: waits until there is a connection.

        That repeats nothing: without a connection nothing was sent.
        """
        return Database(self._pool, self._routes, manner="patient")

    @property
    def behind_pooler(self) -> bool:
        """Whether a pooling proxy stands before the server where work goes."""
        return self._routes.work.behind_pooler

    @property
    def shared_connections(self) -> int:
        """How many connections there are for what is neither urgent nor vital."""
        return self._pool.shared

    @property
    def listens(self) -> bool:
        """Whether notifications arrive, on a connection besides those of the pool."""
        return self._routes.listens

    async def check_direct(self) -> None:
        """Prove that the direct way, if one is named, leads to this database and hears its notifications."""
        await self._routes.check()

    async def fetch(self, sql: str, *args: object) -> list[asyncpg.Record]:
        """Every row, in a transaction of its own."""
        async with self.statement() as connection:
            return await connection.fetch(sql, *args)

    async def fetchrow(self, sql: str, *args: object) -> asyncpg.Record | None:
        """The first row or None, in a transaction of its own."""
        async with self.statement() as connection:
            return await connection.fetchrow(sql, *args)

    async def fetchval(self, sql: str, *args: object) -> Any:
        """The first column of the first row or None, in a transaction of its own."""
        async with self.statement() as connection:
            return await connection.fetchval(sql, *args)

    async def execute(self, sql: str, *args: object) -> str:
        """Run it in a transaction of its own; gives back PostgreSQL's command tag."""
        async with self.statement() as connection:
            return await connection.execute(sql, *args)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """One connection inside one transaction: committed when the block ends, rolled back when it raises.

        Settings, roles and advisory locks must be local to the transaction.
        """
        with self._our_errors():
            seconds = self._routes.work.command_seconds
            async with self._borrowed() as connection, _transaction(connection, seconds):
                if self._tenant is not None:
                    await connection.execute(_confining(self._tenant))
                yield connection

    async def listen(self, channel: str, callback: Listener) -> None:
        """Call back with the payload of every notification, until cancelled.

        Lost connections are replaced; what was sent meanwhile is lost. Where only a pooler answers it only waits.
        """
        if not self._routes.listens:
            await asyncio.Event().wait()
        await keep_listening(self._routes.session, channel, callback)

    @asynccontextmanager
    async def statement(self) -> AsyncIterator[Connection]:
        """One connection for one statement, which is a transaction of its own."""
        if self._tenant is not None:
            async with self.transaction() as connection:
                yield connection
            return
        with self._our_errors():
            async with self._borrowed() as connection:
                yield connection

    def _borrowed(self) -> AbstractAsyncContextManager[Connection]:
        seconds = self._routes.work.command_seconds
        if self._manner == "patient":
            return self._borrowed_patiently(seconds)
        return self._pool.borrow(seconds, rank=self._manner)

    @contextmanager
    def _our_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            ours = translate(error)
            if ours is None:
                raise
            raise (self._slow_statement(error) or ours) from error

    def _slow_statement(self, error: Exception) -> StatementTimedOut | None:
        """What a time-out means while the server answers others: then it is not the server."""
        seconds = self._routes.work.command_seconds
        if not isinstance(error, TimeoutError) or not seconds:
            return None
        if time.monotonic() - self._pool.answered_at > seconds / 2:
            return None
        return StatementTimedOut(
            f"a statement took longer than it may ({seconds:g} s unless it has a timeout of its own), while the "
            "database answered others: split it, or look for the lock that it waits for"
        )

    @asynccontextmanager
    async def _borrowed_patiently(self, seconds: float | None) -> AsyncIterator[Connection]:
        pauses = Pauses()
        async with AsyncExitStack() as stack:
            while True:
                try:
                    connection = await stack.enter_async_context(self._pool.borrow(seconds))
                    break
                except NoConnection as error:
                    _log.warning("database.unavailable", extra={"error": str(error)})
                await asyncio.sleep(pauses.next())
            yield connection


@asynccontextmanager
async def connect(
    settings: Settings,
    *,
    connect_seconds: float = CONNECT_SECONDS,
    command_seconds: float | None = COMMAND_SECONDS,
    oldest_server: int = OLDEST_SERVER,
    reserved: int = 0,
) -> AsyncIterator[Database]:
    """Use the database that the settings name, or the embedded one when they name none.

    Of the pool's connections, `reserved` ones are left to `Database.urgent`, and of several one to `Database.vital`.

    A call unanswered after `command_seconds` raises DatabaseUnavailable: so a silent partition is noticed.
    """
    async with AsyncExitStack() as stack:
        routes = await _routes(settings, stack, connect_seconds, command_seconds)
        is_pooled = await find_pooler(routes.work, oldest_server=oldest_server)
        routes = replace(routes, work=replace(routes.work, behind_pooler=is_pooled))
        pool = await stack.enter_async_context(open_pool(routes.work, settings.pool_size, reserved=reserved))
        yield Database(pool, routes)


@asynccontextmanager
async def connect_directly(settings: Settings) -> AsyncIterator[Database]:
    """The same database past its pooler, where the settings name a way: for what needs a session of its own."""
    async with AsyncExitStack() as stack:
        routes = await _routes(settings, stack, CONNECT_SECONDS, COMMAND_SECONDS)
        await find_pooler(routes.session)
        await routes.check()
        pool = await stack.enter_async_context(open_pool(routes.session, settings.pool_size))
        yield Database(pool, replace(routes, work=routes.session))


async def _routes(
    settings: Settings, stack: AsyncExitStack, connect_seconds: float, command_seconds: float | None
) -> Routes:
    def opener(url: str, setting: str) -> Opener:
        dsn = parse_dsn(url, setting=setting)
        return Opener(lambda: dsn, None, connect_seconds, command_seconds, setting=setting)

    if settings.database_url is None:
        server = await stack.enter_async_context(joined(EmbeddedServer(settings.home)))
        embedded = Opener(
            lambda: parse_dsn(server.dsn),
            lambda: in_reserved_thread(server.ensure_running),
            connect_seconds,
            command_seconds,
        )
        return Routes(embedded, None)
    direct = settings.database_direct_url
    return Routes(
        opener(settings.database_url, "HOLDFAST_DATABASE_URL"),
        opener(direct, "HOLDFAST_DATABASE_DIRECT_URL") if direct else None,
    )


@asynccontextmanager
async def _transaction(connection: Connection, seconds: float | None) -> AsyncIterator[None]:
    """Committed when the block ends, rolled back when it raises.

    Who was cancelled ends as cancelled, also where the server does not confirm the rollback: whoever waits for a server
    that is away would take its silence for a reason to go on.
    """
    transaction = connection.transaction()
    await transaction.start()
    try:
        yield
    except asyncio.CancelledError:
        with suppress(Exception):
            async with asyncio.timeout(seconds):
                await transaction.rollback()
        raise
    except BaseException:
        await transaction.rollback()
        raise
    else:
        await transaction.commit()


def _confining(organisation: str) -> str:
    """What makes a transaction a tenant's, to its end. No query, so that its isolation can still be chosen."""
    # So a constant is read alike by every server, also by one without standard_conforming_strings.
    quoted = organisation.replace("\\", "\\\\").replace("'", "''")
    return f"set local role holdfast_tenant; set local holdfast.organisation to E'{quoted}'"
