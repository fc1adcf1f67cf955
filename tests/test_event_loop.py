"""Connections are opened also while every thread of the process hangs."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from holdfast.db.connection import connect
from holdfast.event_loop import EventLoop
from holdfast.settings import Settings
from tests.conftest import Server
from tests.proxy import Proxy


def test_database_is_found_by_name_while_an_object_store_hangs(server: Server) -> None:
    hung = threading.Event()

    async def answer() -> int:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(2))
        stuck = [asyncio.ensure_future(asyncio.to_thread(hung.wait)) for _ in range(4)]
        try:
            async with Proxy(server.dsn) as proxy:
                url = proxy.dsn.replace("127.0.0.1", "localhost")
                assert "localhost" in url
                async with asyncio.timeout(20), connect(Settings(database_url=url)) as database:
                    return int(await database.fetchval("select 7"))
        finally:
            hung.set()
            await asyncio.gather(*stuck)

    with asyncio.Runner(loop_factory=EventLoop) as runner:
        assert runner.run(answer()) == 7
