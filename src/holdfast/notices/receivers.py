"""Whom to tell: webhooks are added, listed, given new secrets, tried out and removed."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from holdfast.access.signatures import new_secret
from holdfast.db.connection import Database
from holdfast.errors import InvalidInput, SourceGone
from holdfast.notices.delivery import Taken


class Event(StrEnum):
    """What can be heard of."""

    JOB_DONE = "job.done"
    JOB_FAILED = "job.failed"
    JOB_DEADLETTER = "job.deadletter"
    BUDGET_EXHAUSTED = "budget.exhausted"
    PROVIDER_HELD = "provider.held"
    ALERT_OPENED = "alert.opened"
    ALERT_CLOSED = "alert.closed"


@dataclass(frozen=True, slots=True)
class NewWebhook:
    """A webhook on the only day its secret is shown."""

    receiver_id: int
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """Who is told of what. `waiting` is how many notices are on their way."""

    receiver_id: int
    organisation: str | None
    kind: str
    url: str
    events: list[str]
    created_at: datetime
    created_by: str
    disabled_at: datetime | None
    disabled_reason: str | None
    waiting: int

    def to_json(self) -> dict[str, Any]:
        """As programs are answered."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One notice on its way to one receiver: waiting, delivered or given_up, and what the receiver last said."""

    delivery_id: int
    receiver_id: int
    message_id: UUID
    event: str
    at: datetime
    organisation: str | None
    state: str
    attempts: int
    next_at: datetime | None
    last_at: datetime | None
    last_status: int | None
    last_answer: str | None

    def to_json(self) -> dict[str, Any]:
        """As programs are answered."""
        return {name: getattr(self, name) for name in self.__slots__} | {"message_id": str(self.message_id)}


class Receivers:
    """The receivers of an installation, or of the organisation that the database is confined to."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self, url: str, *, organisation: str | None, actor: str, events: Iterable[Event] = tuple(Event)
    ) -> NewWebhook:
        """Have a webhook told of these events, of one organisation or of all. The secret is in the answer only."""
        _check(url)
        secret = new_secret()
        receiver_id = await self._database.fetchval(
            "select holdfast.add_webhook($1, $2, $3, $4, $5)",
            *(organisation, url, [str(event) for event in dict.fromkeys(events)], secret, actor),
        )
        return NewWebhook(int(receiver_id), secret)

    async def all(self) -> list[Receiver]:
        """Every receiver, disabled ones too, the newest first."""
        return [Receiver(**row) for row in await self._database.fetch("select * from holdfast.receivers()")]

    async def remove(self, receiver_id: int, *, actor: str) -> None:
        """Tell it nothing more; what waits for it is given up. Raises NotFound."""
        await self._database.execute("select holdfast.remove_receiver($1, $2)", receiver_id, actor)

    async def rotate(self, receiver_id: int, *, actor: str) -> NewWebhook:
        """Give it a new secret; the one before signs too for a day. Raises NotFound."""
        secret = new_secret()
        await self._database.execute("select holdfast.rotate_secret($1, $2, $3)", receiver_id, secret, actor)
        return NewWebhook(receiver_id, secret)

    async def make_ping(self, receiver_id: int, *, actor: str) -> Taken:
        """A ping for this receiver, taken for the caller, who delivers it. Raises NotFound."""
        row = await self._database.fetchrow("select * from holdfast.ping($1, $2)", receiver_id, actor)
        assert row is not None
        return Taken(**row)

    async def deliveries(
        self, *, receiver_id: int | None = None, state: str | None = None, limit: int = 50
    ) -> list[Delivery]:
        """Deliveries, the newest first. Raises NotFound for a receiver that is not there."""
        rows = await self._database.fetch("select * from holdfast.deliveries($1, $2, $3)", receiver_id, state, limit)
        return [Delivery(**row) for row in rows]

    async def redeliver(self, delivery_id: int, *, actor: str) -> None:
        """Have it delivered again, or at once, under the same id. Raises NotFound, or Conflict while under way."""
        await self._database.execute("select holdfast.redeliver($1, $2)", delivery_id, actor)

    async def mail_alerts_to(self, addresses: Iterable[str], *, actor: str) -> None:
        """Have alerts mailed to exactly these addresses. Idempotent."""
        await self._database.execute("select holdfast.mail_alerts_to($1, $2)", list(addresses), actor)


def _check(url: str) -> None:
    # The HTTP client takes longer to import than a command that only looks may take.
    from holdfast.network.links import parse_link

    try:
        parse_link(url)
    except SourceGone as error:
        raise InvalidInput(str(error)) from error
