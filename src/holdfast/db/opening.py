"""Opens connections to PostgreSQL, and finds out once what stands between us and it."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import asyncpg

from holdfast.db.translation import translate_connecting
from holdfast.errors import DatabaseUnusable

OLDEST_SERVER = 15
STATEMENTS_KEPT = 200

RawConnection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@dataclass(frozen=True, slots=True)
class Opener:
    """Knows how to open one more connection.

    `behind_pooler` says that consecutive statements may run on different servers unless a transaction holds
    them together. The driver then keeps no prepared statement, and sends each one again with the call that
    uses it; and nobody can listen. It is safe to assume while nothing is known.
    """

    locate: Callable[[], str]
    revive: Callable[[], Awaitable[None]] | None
    connect_seconds: float
    command_seconds: float | None
    behind_pooler: bool = True

    async def open(self) -> RawConnection:
        """A connection ready for use. A server of our own that died is brought back first."""
        try:
            return await self._open_or_revive()
        except Exception as error:
            ours = translate_connecting(error)
            if ours is None:
                raise
            raise ours from error

    async def open_for_pool(self, *_: object, **__: object) -> RawConnection:
        """`open`, as the driver's pool calls it: what it passes is already known here."""
        return await self.open()

    async def _open_or_revive(self) -> RawConnection:
        try:
            return await self._open()
        except (ConnectionRefusedError, FileNotFoundError):
            if self.revive is None:
                raise
        await self.revive()
        return await self._open()

    async def _open(self) -> RawConnection:
        # Poolers refuse start-up parameters they do not know: the application's name is all we may set.
        connection: RawConnection = await asyncpg.connect(
            self.locate(),
            timeout=self.connect_seconds,
            command_timeout=self.command_seconds,
            statement_cache_size=0 if self.behind_pooler else STATEMENTS_KEPT,
            max_cached_statement_lifetime=0,
            server_settings={"application_name": "holdfast"},
        )
        try:
            await _speak_json(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection


async def find_pooler(opener: Opener, *, oldest_server: int = OLDEST_SERVER) -> bool:
    """Whether a transaction-pooling proxy answers instead of the server. Refuses a server that is too old.

    The proxy makes up the process id it greets with: it cannot know which server will run what follows.
    """
    connection = await opener.open()
    try:
        version = connection.get_server_version()
        if version.major < oldest_server:
            raise DatabaseUnusable(
                f"the database is PostgreSQL {version.major}: upgrade it to {oldest_server} or newer"
            )
        return bool(await connection.fetchval("select pg_backend_pid()") != connection.get_server_pid())
    finally:
        connection.terminate()


async def _speak_json(connection: RawConnection) -> None:
    for name in ("json", "jsonb"):
        await connection.set_type_codec(name, schema="pg_catalog", encoder=_to_json, decoder=json.loads)


def _to_json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
