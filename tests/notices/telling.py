"""Receivers, what happens and its delivery, each in one line."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import asyncpg

from holdfast.db.connection import Database
from holdfast.network.addresses import Guard
from holdfast.network.pinned import PinnedClient
from holdfast.notices.delivering import Deliverer
from holdfast.notices.delivery import Sender
from holdfast.notices.receivers import Event, NewWebhook, Receivers
from holdfast.notices.webhook import WebhookSender
from tests.notices.hook import Hook

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Telling:
    """An installation with receivers on loopback."""

    database: Database
    allowed: set[str] = field(default_factory=set)

    @property
    def receivers(self) -> Receivers:
        return Receivers(self.database)

    async def add(self, hook: Hook, *events: Event, organisation: str | None = None) -> NewWebhook:
        """Have the hook told of these events, or of all."""
        self.allowed.add(hook.host)
        return await self.receivers.add(
            hook.url, events=events or tuple(Event), organisation=organisation, actor="tester"
        )

    def deliverer(self, *, seconds: float = PATIENCE_SECONDS, **senders: Sender) -> Deliverer:
        guard = Guard(allowed=frozenset(self.allowed))
        client = PinnedClient(guard, connect_seconds=PATIENCE_SECONDS, read_seconds=PATIENCE_SECONDS)
        return Deliverer(
            self.database, {"webhook": WebhookSender(client, seconds=seconds), **senders}, poll_seconds=0.02
        )

    async def deliver(self, **senders: Sender) -> None:
        """Deliver until nothing is due."""
        deliverer = self.deliverer(**senders)
        while due := await deliverer.take():
            await asyncio.gather(*map(deliverer.deliver, due))

    async def happen(self, count: int = 1, event: Event = Event.JOB_DONE, organisation: str = "acme") -> None:
        """Something of that kind happens so many times."""
        items = [{"organisation": organisation, "body": {"number": number}} for number in range(count)]
        await self.database.execute("select holdfast.announce($1, $2)", str(event), items)

    async def delivery(self, number: int = 1) -> asyncpg.Record:
        row = await self.database.fetchrow("select * from holdfast.delivery where id = $1", number)
        assert row is not None
        return row

    async def events(self) -> list[str]:
        """What was announced so far, in its order."""
        return [row["event"] for row in await self.database.fetch("select event from holdfast.notice order by id")]


@asynccontextmanager
async def running(*deliverers: Deliverer) -> AsyncIterator[None]:
    """Deliver in the background while the block runs."""
    tasks = [asyncio.create_task(deliverer.run()) for deliverer in deliverers]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(question: Callable[[], object]) -> None:
    """Ask again and again until the answer is yes."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not question():
            await asyncio.sleep(0.005)


def numbers(told: Iterable[dict[str, dict[str, int]]]) -> list[int]:
    """Which of the things that happened these bodies speak of."""
    return sorted(body["data"]["number"] for body in told)
