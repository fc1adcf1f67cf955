"""What happens while connecting: every error is one of ours, and none ends who was connected before."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from holdfast.db.connection import Database, connect
from holdfast.engine.patience import insist
from holdfast.errors import ConnectionsUsedUp, DatabaseUnavailable, DatabaseUnusable, NoConnection
from holdfast.settings import Settings
from tests.endpoint import with_user
from tests.proxy import Proxy


def _error(state: str, text: str) -> bytes:
    fields = b"".join(f"{kind}{value}\0".encode() for kind, value in (("S", "FATAL"), ("C", state), ("M", text)))
    return b"E" + struct.pack("!I", len(fields) + 5) + fields + b"\0"


@asynccontextmanager
async def _saying(answer: bytes) -> AsyncIterator[str]:
    """The URL of something that says this to whoever comes in, and hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readexactly(8)
            writer.write(answer)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    yield f"postgresql://ada:s3cr3t@127.0.0.1:{port}/d?sslmode=disable"
    server.close()


AUTHENTICATED = b"R" + struct.pack("!II", 8, 0)

PASSING = [
    _error("XX000", "Connection to database not available"),
    _error("XX000", "Couldn't connect to compute node"),
    _error("08P01", "server login failed: FATAL the database system is starting up"),
    _error("08P01", "server login has been failing, try again later (server_login_retry)"),
    _error("57P03", "the database system is starting up"),
    _error("57014", "canceling authentication due to timeout"),
    _error("58000", "could not open file"),
    b"",
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b"\x00\x01\x02",
    AUTHENTICATED,
    AUTHENTICATED + b"S\x00\x00\x00\x09\xff\xfe\xfd",
    AUTHENTICATED + b"Z\x00\x00\x00\x05",
    _error("55000", 'database "d" is not currently accepting connections'),
]
USED_UP = [
    _error("53300", "sorry, too many clients already"),
    _error("53300", 'too many connections for role "ada"'),
    _error(
        "XX000", "MaxClientsInSessionMode: max clients reached - in Session mode max clients are limited to pool_size"
    ),
    _error("XX000", "Max client connections reached"),
    _error("08P01", "no more connections allowed (max_client_conn)"),
    _error("08P01", "query_wait_timeout"),
    _error("57014", "query_wait_timeout"),
]
UNUSABLE = [
    _error("28P01", 'password authentication failed for user "ada"'),
    _error("28000", 'no pg_hba.conf entry for host "127.0.0.1"'),
    _error("3D000", 'database "d" does not exist'),
    _error("42501", 'permission denied for database "d"'),
    _error("42704", 'unrecognized configuration parameter "foo"'),
    _error("XX000", "Tenant or user not found"),
    _error("08P01", "no such user: ada"),
    _error("08P01", "no such database: d"),
    _error("08P01", "unsupported startup parameter: options"),
    _error("XX000", "Endpoint ID is not specified. Either please upgrade the postgres client library"),
]


async def _refusal(answer: bytes) -> BaseException:
    async with _saying(answer) as url:
        with pytest.raises((DatabaseUnavailable, DatabaseUnusable)) as refused:
            async with connect(Settings(database_url=url), command_seconds=0.01):
                pass
    said = str(refused.value)
    assert "s3cr3t" not in said
    assert "\n" not in said
    return refused.value


async def test_error_that_passes_is_no_connection() -> None:
    assert [type(await _refusal(answer)) for answer in PASSING] == [NoConnection] * len(PASSING)


async def test_pooler_or_server_without_a_connection_left_is_recognised() -> None:
    assert [type(await _refusal(answer)) for answer in USED_UP] == [ConnectionsUsedUp] * len(USED_UP)


async def test_what_someone_must_mend_is_unusable() -> None:
    assert [type(await _refusal(answer)) for answer in UNUSABLE] == [DatabaseUnusable] * len(UNUSABLE)


async def test_host_without_an_address_is_no_connection() -> None:
    with pytest.raises(NoConnection, match=r"cannot reach the database: host no-such-host\.invalid: "):
        async with connect(Settings(database_url="postgresql://ada:s3cr3t@no-such-host.invalid/d")):
            pass


async def test_who_was_connected_goes_on_trying(dsn: str, guest: str, database: Database) -> None:
    """A login that is locked for a while, as when its password changes, ends neither calls nor listening."""
    heard: asyncio.Queue[str] = asyncio.Queue()
    async with connect(Settings(database_url=with_user(dsn, guest), pool_size=1)) as visitor:
        listening = asyncio.create_task(visitor.listen("news", heard.put_nowait))
        await _first_heard(database, heard)
        await database.execute(f'alter role "{guest}" nologin')
        await database.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", guest)
        with pytest.raises(NoConnection, match="refuses the login"):
            await _call_until_refused(visitor)
        await database.execute(f'alter role "{guest}" login')
        assert await insist(lambda: visitor.fetchval("select 1")) == 1
        while not heard.empty():
            heard.get_nowait()
        assert await _first_heard(database, heard) == "hello"
        listening.cancel()


class _Counted(Proxy):
    """Counts who comes."""

    came = 0

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.came += 1
        await super()._serve(reader, writer)


async def test_who_is_refused_does_not_knock_with_every_call(dsn: str, guest: str, database: Database) -> None:
    """Servers and their guards lock out an address that fails to log in again and again."""
    async with (
        _Counted(with_user(dsn, guest)) as proxy,
        connect(Settings(database_url=with_user(proxy.dsn, guest), pool_size=4)) as visitor,
    ):
        await database.execute(f'alter role "{guest}" nologin')
        proxy.cut()
        before = proxy.came
        for _ in range(200):
            with pytest.raises(DatabaseUnavailable):
                await visitor.fetchval("select 1")
        assert 1 <= proxy.came - before <= 20
        await database.execute(f'alter role "{guest}" login')
        assert await insist(lambda: visitor.fetchval("select 1")) == 1


async def _call_until_refused(visitor: Database) -> None:
    """The first calls may still meet the connection that is being ended."""
    while True:
        try:
            await visitor.fetchval("select 1")
        except NoConnection:
            raise
        except DatabaseUnavailable:
            await asyncio.sleep(0.05)


async def _first_heard(database: Database, heard: "asyncio.Queue[str]") -> str:
    while True:
        await database.execute("notify news, 'hello'")
        with suppress(TimeoutError):
            return await asyncio.wait_for(heard.get(), 0.2)


async def test_host_that_cannot_be_a_name_is_called_so() -> None:
    with pytest.raises(DatabaseUnusable, match="no name that can be looked up: correct HOLDFAST_DATABASE_URL"):
        async with connect(Settings(database_url="postgresql://ada:s3cr3t@a..b/d")):
            pass


async def test_server_of_another_kind_than_demanded_is_called_so(dsn: str) -> None:
    with pytest.raises(NoConnection, match="target_session_attrs"):
        async with connect(Settings(database_url=f"{dsn}{'&' if '?' in dsn else '?'}target_session_attrs=standby")):
            pass


async def test_direct_way_that_fails_names_its_own_setting(dsn: str) -> None:
    direct = "postgresql://ada:s3cr3t@127.0.0.1:1/d"
    async with connect(Settings(database_url=dsn, database_direct_url=direct)) as database:
        with pytest.raises(NoConnection, match="HOLDFAST_DATABASE_DIRECT_URL"):
            await database.check_direct()
