"""Work through a pooler, sessions past it: two URLs, one database."""

import asyncio
from contextlib import suppress

import pytest

from holdfast.db.connection import Database, connect, connect_directly
from holdfast.errors import DatabaseUnusable, NoConnection
from holdfast.schema import check_database, migrate_database
from holdfast.settings import Settings
from tests.pooler import Pooler
from tests.proxy import Proxy


async def test_listener_takes_the_direct_way(dsn: str, database: Database) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    async with Pooler(dsn) as pooler:
        named = f"{dsn}{'&' if '?' in dsn else '?'}application_name=direct"
        async with connect(Settings(database_url=pooler.dsn, database_direct_url=named)) as mixed:
            assert (mixed.behind_pooler, mixed.listens) == (True, True)
            await mixed.check_direct()
            listening = asyncio.create_task(mixed.listen("news", heard.put_nowait))
            while heard.empty():
                await mixed.execute("notify news, 'hello'")
                with suppress(TimeoutError):
                    assert await asyncio.wait_for(heard.get(), 0.2) == "hello"
                    break
            count = "select count(*) from pg_stat_activity where application_name = 'direct' and query like 'LISTEN%'"
            assert await database.fetchval(count) == 1
            listening.cancel()
        async with connect(Settings(database_url=pooler.dsn)) as pooled:
            assert not pooled.listens


async def test_migrating_takes_the_direct_way(empty_dsn: str) -> None:
    async with Pooler(empty_dsn) as pooler:
        settings = Settings(database_url=pooler.dsn, database_direct_url=empty_dsn)
        async with connect_directly(settings) as direct:
            servers = {await direct.fetchval("select pg_backend_pid()") for _ in range(6)}
        assert len(servers) == 1
        assert (await migrate_database(settings)).applied
        assert (await check_database(settings)).missing == []


async def test_ways_to_different_databases_are_refused(dsn: str, empty_dsn: str) -> None:
    settings = Settings(database_url=dsn, database_direct_url=empty_dsn)
    with pytest.raises(DatabaseUnusable, match="lead to different databases"):
        await migrate_database(settings)
    async with connect(settings) as database:
        with pytest.raises(DatabaseUnusable, match="lead to different databases"):
            await database.check_direct()


async def test_direct_way_on_which_nothing_is_heard_is_refused(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.db.routes.NOTIFICATION_SECONDS", 0.5)
    async with Pooler(dsn) as pooler:
        settings = Settings(database_url=dsn, database_direct_url=pooler.dsn)
        async with connect(settings) as database:
            with pytest.raises(DatabaseUnusable, match="a pooler that delivers no notifications"):
                await database.check_direct()


class _LosesOne(Proxy):
    """Swallows the first answer that holds `text`, as a server too busy to give it in time."""

    text = b""

    def rewrite(self, data: bytes) -> bytes:
        if not self.text or self.text not in data:
            return data
        self.text = b""
        return b""


async def test_notification_that_is_late_is_tried_again(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.db.routes.NOTIFICATION_SECONDS", 2.0)
    async with (
        _LosesOne(dsn) as proxy,
        connect(Settings(database_url=dsn, database_direct_url=proxy.dsn)) as database,
    ):
        proxy.text = b"holdfast_"
        await database.check_direct()
        assert not proxy.text


@pytest.mark.parametrize("command_seconds", [2.0, None])
async def test_direct_way_that_does_not_answer_is_no_connection(
    dsn: str, command_seconds: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.db.routes.ANSWER_SECONDS", 2.0, raising=False)
    async with _LosesOne(dsn) as proxy:
        settings = Settings(database_url=dsn, database_direct_url=proxy.dsn)
        async with connect(settings, command_seconds=command_seconds) as database:
            for answer in (b"pg_try_advisory_xact_lock", b"LISTEN\0"):
                proxy.text = answer
                with pytest.raises(NoConnection, match="in time"):
                    await database.check_direct()
