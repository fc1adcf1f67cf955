"""Opens connections to PostgreSQL, and finds out once what stands between us and it."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import asyncpg

from holdfast import json_codec
from holdfast.db.pauses import Pauses
from holdfast.db.refusals import URL, translate_connecting
from holdfast.db.tls import tls_arguments
from holdfast.dsn import Dsn
from holdfast.errors import ConnectionsUsedUp, DatabaseUnusable, HoldfastError, NoConnection
from holdfast.event_loop import reserved_threads

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

    locate: Callable[[], Dsn]
    revive: Callable[[], Awaitable[None]] | None
    connect_seconds: float
    command_seconds: float | None
    behind_pooler: bool = True
    setting: str = URL

    async def open(self) -> RawConnection:
        """A connection ready for use. A server of our own that died is brought back first.

        Raises NoConnection, or DatabaseUnusable when someone must act first.
        """
        try:
            return await self._open_or_revive()
        except HoldfastError:
            raise
        except Exception as error:
            raise translate_connecting(error, self.setting, self.locate().hosts) from error

    async def open_again(self) -> RawConnection:
        """`open` for who was connected before: a password that is changed or a tenant that is paused may come back,
        so everything is NoConnection, and whoever works goes on trying.
        """
        try:
            return await self.open()
        except DatabaseUnusable as error:
            raise NoConnection(str(error)) from error

    async def open_for_pool(self, *_: object, **__: object) -> RawConnection:
        """`open_again`, as the driver's pool calls it: what it passes is already known here."""
        return await self.open_again()

    async def open_first(self) -> RawConnection:
        """`open` for who was not connected yet, and is ready to wait for a connection that someone gives up."""
        pauses, began_at = Pauses(), time.monotonic()
        while True:
            try:
                return await self.open()
            except ConnectionsUsedUp:
                if time.monotonic() - began_at > (self.command_seconds or math.inf):
                    raise
            await asyncio.sleep(pauses.next())

    async def _open_or_revive(self) -> RawConnection:
        try:
            return await self._open()
        except (ConnectionRefusedError, FileNotFoundError):
            if self.revive is None:
                raise
        await self.revive()
        return await self._open()

    async def _open(self) -> RawConnection:
        dsn = self.locate()
        with reserved_threads():
            connection: RawConnection = await asyncpg.connect(
                **_arguments(dsn),
                timeout=dsn.connect_seconds or self.connect_seconds,
                command_timeout=self.command_seconds,
                statement_cache_size=0 if self.behind_pooler else STATEMENTS_KEPT,
                max_cached_statement_lifetime=0,
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
    connection = await opener.open_first()
    try:
        version = connection.get_server_version()
        if version.major < oldest_server:
            raise DatabaseUnusable(
                f"the database is PostgreSQL {version.major}: upgrade it to {oldest_server} or newer"
            )
        return bool(await connection.fetchval("select pg_backend_pid()") != connection.get_server_pid())
    except HoldfastError:
        raise
    except Exception as error:
        raise translate_connecting(error) from error
    finally:
        connection.terminate()


def _arguments(dsn: Dsn) -> dict[str, Any]:
    # Poolers refuse start-up parameters they do not know: beyond the application's name only what the URL asks for.
    settings = {"application_name": dsn.application_name, **({"options": dsn.options} if dsn.options else {})}
    return {
        **tls_arguments(dsn.tls),
        "host": list(dsn.hosts) or None,
        "port": list(dsn.ports) or None,
        "user": dsn.user,
        "password": dsn.password,
        "passfile": dsn.passfile,
        "database": dsn.database,
        "target_session_attrs": dsn.session_attributes,
        "krbsrvname": dsn.kerberos_service,
        "gsslib": dsn.gss_library,
        "server_settings": settings,
    }


async def _speak_json(connection: RawConnection) -> None:
    for name in ("json", "jsonb"):
        await connection.set_type_codec(name, schema="pg_catalog", encoder=_to_json, decoder=json_codec.loads)


def _to_json(value: Any) -> str:
    return json_codec.dumps(value, allow_nan=False, separators=(",", ":"))
