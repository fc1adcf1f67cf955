"""Every weather as a context manager over a fleet: bad when the block begins, clear when it has ended."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias

import asyncpg

from holdfast.db.cluster import Cluster
from tests.conftest import OwnServer
from tests.weather.fleet import LOGIN, Fleet
from tests.weather.pipelines import FILERS, HOGGED_LOCK, HOGS

SLOW_SECONDS = 5.0

Condition: TypeAlias = Callable[[Fleet, OwnServer], AbstractAsyncContextManager[None]]

READ_ONLY = "default_transaction_read_only"
TERMINATE = f"select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = '{LOGIN}'"
HOGGED = f"""
select pid from pg_stat_activity
where usename = '{LOGIN}' and query like '%pg_try_advisory_xact_lock_shared%' and state like '%transaction%'
"""


@asynccontextmanager
async def cut_for_all(fleet: Fleet, _: OwnServer) -> AsyncIterator[None]:
    """Connections are reset, new ones too."""
    for worker in fleet.workers:
        worker.proxy.refuse()
    yield
    for worker in fleet.workers:
        worker.proxy.restore()


@asynccontextmanager
async def cut_for_one(fleet: Fleet, _: OwnServer) -> AsyncIterator[None]:
    """The first worker hears nothing more, and nobody tells it why. What it has sent arrives in the end."""
    fleet.workers[0].proxy.blackhole()
    yield
    fleet.workers[0].proxy.restore()


@asynccontextmanager
async def restarted(fleet: Fleet, server: OwnServer) -> AsyncIterator[None]:
    """The server crashes and is started again."""
    await asyncio.to_thread(Cluster(server.home / "postgres", durable=False).stop, "immediate")
    yield
    await asyncio.to_thread(server.server.ensure_running)


@asynccontextmanager
async def read_only(fleet: Fleet, _: OwnServer) -> AsyncIterator[None]:
    """Everything can be read and nothing written, as providers have it when the disk is full."""
    await _set_read_only(fleet, "on")
    yield
    await _set_read_only(fleet, "off")


async def _set_read_only(fleet: Fleet, state: str) -> None:
    await fleet.ask(f"alter system set {READ_ONLY} = {state}")
    await fleet.ask("select pg_reload_conf()")
    await fleet.until_none(f"select 1 where current_setting('{READ_ONLY}') <> '{state}'", f"read-only {state}")


@asynccontextmanager
async def out_of_connections(fleet: Fleet, _: OwnServer) -> AsyncIterator[None]:
    """Workers lose those they have, and others take the last ones."""
    await fleet.ask(f"alter role {LOGIN} connection limit 0")
    await fleet.ask(TERMINATE)
    yield
    await fleet.ask(f"alter role {LOGIN} connection limit -1")


@asynccontextmanager
async def slow(fleet: Fleet, _: OwnServer) -> AsyncIterator[None]:
    """Every answer of the database takes half a lease longer."""
    for worker in fleet.workers:
        worker.proxy.answer_delay_seconds = SLOW_SECONDS * fleet.scale
    yield
    for worker in fleet.workers:
        worker.proxy.restore()


@asynccontextmanager
async def store_hung(fleet: Fleet, _: OwnServer) -> AsyncIterator[None]:
    """Calls of the object store hang, in every thread that the event loop has for such calls.

    Once they do, workers have to connect anew: an address is resolved in a thread, too.
    """
    fleet.store.hang()
    await fleet.submit("filing", FILERS * len(fleet.workers))
    await fleet.until(lambda: fleet.store.waiting >= len(fleet.workers), "every worker waits for the object store")
    await fleet.ask(TERMINATE)
    yield
    fleet.store.resume()


@asynccontextmanager
async def connections_hogged(fleet: Fleet, _: OwnServer) -> AsyncIterator[None]:
    """Handlers have taken every connection they can get, each in a transaction that does not end."""
    held = await asyncpg.connect(fleet.dsn)
    try:
        await held.execute("select pg_advisory_lock($1)", HOGGED_LOCK)
        await fleet.submit("hogging", HOGS * len(fleet.workers))
        none_hogs = f"select 1 where (select count(*) from ({HOGGED}) hogs) < {len(fleet.workers)}"
        await fleet.until_none(none_hogs, "every worker's connections taken")
        yield
    finally:
        await held.close()


CONDITIONS: Mapping[str, Condition] = {
    "cut_for_all": cut_for_all,
    "cut_for_one": cut_for_one,
    "restarted": restarted,
    "read_only": read_only,
    "out_of_connections": out_of_connections,
    "slow": slow,
    "store_hung": store_hung,
    "connections_hogged": connections_hogged,
}
# In these the database answers: what finishes is recorded while they last.
DATABASE_ANSWERS = ("store_hung", "connections_hogged")
