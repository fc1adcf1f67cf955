"""The one way to the database: a pool whose errors are ours."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from holdfast.db.embedded import EmbeddedServer, joined
from holdfast.db.listening import Listener, keep_listening
from holdfast.db.opening import OLDEST_SERVER, Opener, RawConnection, find_pooler
from holdfast.db.translation import translate
from holdfast.errors import DatabaseUnavailable
from holdfast.settings import Settings

if TYPE_CHECKING:
    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]

Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"

CONNECT_SECONDS = 5.0
COMMAND_SECONDS = 30.0
CLOSE_SECONDS = 5.0


class Database:
    """A pool of connections.

    Nothing is repeated on the caller's behalf: after DatabaseUnavailable a write may or may not have
    happened, and only the caller knows how to find out.
    """

    def __init__(self, pool: "Pool", opener: Opener, *, tenant: str | None = None) -> None:
        self._pool = pool
        self._opener = opener
        self._tenant = tenant

    def confined_to(self, organisation: str) -> "Database":
        """The same database as one organisation sees it: every other one's rows are not there."""
        return Database(self._pool, self._opener, tenant=organisation)

    @property
    def behind_pooler(self) -> bool:
        """Whether a transaction-pooling proxy stands before the server; notifications do not arrive then."""
        return self._opener.behind_pooler

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
        with _our_errors():
            async with self._borrowed() as connection, connection.transaction():
                if self._tenant is not None:
                    await connection.execute(_confining(self._tenant))
                yield connection

    async def listen(self, channel: str, callback: Listener) -> None:
        """Call back with the payload of every notification, until cancelled.

        Lost connections are replaced; what was sent meanwhile is lost. Behind a pooler it only waits.
        """
        await keep_listening(self._opener, channel, callback)

    @asynccontextmanager
    async def statement(self) -> AsyncIterator[Connection]:
        """One connection for one statement, which is a transaction of its own."""
        if self._tenant is not None:
            async with self.transaction() as connection:
                yield connection
            return
        with _our_errors():
            async with self._borrowed() as connection:
                yield connection

    @asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[Connection]:
        async with asyncio.timeout(self._opener.command_seconds):
            connection: Connection = await self._pool.acquire()
        try:
            yield connection
        except Exception as error:
            # Waiting for a silent server to confirm the cancellation would double the silence, and a connection that
            # broke in the middle of an answer must not meet its next borrower.
            if isinstance(translate(error), DatabaseUnavailable):
                # One that the pool itself saw closing is already out of our hands, and says so.
                with suppress(asyncpg.InterfaceError):
                    connection.terminate()
            raise
        finally:
            await self._pool.release(connection)


@asynccontextmanager
async def connect(
    settings: Settings,
    *,
    connect_seconds: float = CONNECT_SECONDS,
    command_seconds: float | None = COMMAND_SECONDS,
    oldest_server: int = OLDEST_SERVER,
) -> AsyncIterator[Database]:
    """Use the database that the settings name, or the embedded one when they name none.

    A call unanswered after `command_seconds` raises DatabaseUnavailable: so a silent partition is noticed.
    """
    async with AsyncExitStack() as stack:
        opener = Opener(
            locate=lambda: settings.database_url or "",
            revive=None,
            connect_seconds=connect_seconds,
            command_seconds=command_seconds,
        )
        if settings.database_url is None:
            server = await stack.enter_async_context(joined(EmbeddedServer(settings.home)))
            opener = replace(opener, locate=lambda: server.dsn, revive=lambda: asyncio.to_thread(server.ensure_running))
        opener = replace(opener, behind_pooler=await find_pooler(opener, oldest_server=oldest_server))
        pool = await stack.enter_async_context(_pool(opener, settings.pool_size))
        yield Database(pool, opener)


@asynccontextmanager
async def _pool(opener: Opener, size: int) -> AsyncIterator["Pool"]:
    pool = asyncpg.create_pool(
        connect=opener.open_for_pool,
        reset=_keep_session,
        min_size=0,
        max_size=size,
        record_class=asyncpg.Record,
    )
    await pool
    try:
        yield pool
    finally:
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await pool.close()
        except Exception:
            # A database that is gone cannot say goodbye; the connections are dropped either way.
            pool.terminate()


def _confining(organisation: str) -> str:
    """What makes a transaction a tenant's, to its end. No query, so that its isolation can still be chosen."""
    quoted = organisation.replace("'", "''")
    return f"set local role holdfast_tenant; set local holdfast.organisation to '{quoted}'"


async def _keep_session(_: RawConnection) -> None:
    """Nothing outlives its transaction here, so nothing is reset: that would cost a round trip per call."""


@contextmanager
def _our_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        ours = translate(error)
        if ours is None:
            raise
        raise ours from error
