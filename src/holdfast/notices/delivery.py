"""One notice on its way to one receiver, and how a try of it can end."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A delivery that is ours for a minute. `payload` is what is sent; `secrets` sign it, the newest first."""

    delivery_id: int
    token: int
    receiver_id: int
    kind: str
    url: str
    secrets: list[str] = field(repr=False)
    message_id: UUID
    event: str
    sent_at: datetime
    payload: str


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver has it."""

    status: int | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The receiver may have it or not: it is tried again."""

    answer: str
    status: int | None = None
    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """The receiver wants nothing more, ever."""

    answer: str
    status: int | None = None


Outcome: TypeAlias = Delivered | Failed | Gone


class Sender(Protocol):
    """Sends what is delivered to one kind of receiver."""

    async def send(self, taken: Taken) -> Outcome:
        """Try once, within seconds. What the other side does wrong is an outcome, never an exception."""
        ...
