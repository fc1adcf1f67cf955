"""Delivers notices: takes what is due, tries it, and records how that ended. Any number of processes may do so."""

import asyncio
from collections.abc import Mapping
from typing import assert_never

from holdfast.db.connection import Database
from holdfast.engine import events
from holdfast.engine.redaction import clean_text
from holdfast.notices.delivery import Delivered, Failed, Gone, Outcome, Sender, Taken

MOST_AT_ONCE = 16
POLL_SECONDS = 1.0


class Deliverer:
    """Delivers to those kinds of receivers for which there is a sender.

    Whatever is delivered may be delivered again, under the same id: when a process dies between the receiver's answer
    and our record of it. Nothing is left undelivered by that.
    """

    def __init__(
        self, database: Database, senders: Mapping[str, Sender], *, poll_seconds: float = POLL_SECONDS
    ) -> None:
        self._database = database
        self._senders = senders
        self._poll_seconds = poll_seconds
        self._under_way: dict[asyncio.Task[Outcome], int] = {}

    async def run(self) -> None:
        """Deliver until cancelled. What is under way then is taken up again by whoever comes next."""
        try:
            while True:
                await self._start_what_is_due()
                await self._pause()
        finally:
            for task in self._under_way:
                task.cancel()

    async def take(self, limit: int = MOST_AT_ONCE) -> list[Taken]:
        """What is due, ours for a minute."""
        rows = await self._database.fetch(
            "select * from holdfast.take_deliveries($1, $2, $3)",
            *(list(self._senders), list(self._under_way.values()), limit),
        )
        return [Taken(**row) for row in rows]

    async def deliver(self, taken: Taken) -> Outcome:
        """Try once and record it."""
        outcome = await self._try(taken)
        answer = None if isinstance(outcome, Delivered) else outcome.answer
        try:
            state = await self._record(taken, outcome)
            events.delivery_ended(
                taken.delivery_id, receiver=taken.receiver_id, about=taken.event, state=state, answer=answer
            )
        except Exception as error:  # the minute passes, and it is tried again
            events.not_delivering(error)
        return outcome

    async def _start_what_is_due(self) -> None:
        room = MOST_AT_ONCE - len(self._under_way)
        if room == 0:
            return
        try:
            due = await self.take(room)
        except Exception as error:
            events.not_delivering(error)
            return
        for taken in due:
            task = asyncio.create_task(self.deliver(taken))
            self._under_way[task] = taken.receiver_id
            task.add_done_callback(self._under_way.pop)

    async def _pause(self) -> None:
        """Until something that was under way ended, or it is time to look again."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=self._poll_seconds, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(self._poll_seconds)

    async def _try(self, taken: Taken) -> Outcome:
        try:
            return await self._senders[taken.kind].send(taken)
        except Exception as error:
            # Our own mistake, met by this notice: recorded like any failure, or it would be taken for ever.
            return Failed(f"it could not be sent: {type(error).__name__}: {clean_text(str(error))}")

    async def _record(self, taken: Taken, outcome: Outcome) -> str | None:
        ending: tuple[str, int | None, str | None, float | None]
        match outcome:
            case Delivered():
                ending = ("delivered", outcome.status, None, None)
            case Failed():
                ending = ("failed", outcome.status, outcome.answer, outcome.retry_after_seconds)
            case Gone():
                ending = ("gone", outcome.status, outcome.answer, None)
            case _:
                assert_never(outcome)
        state: str | None = await self._database.fetchval(
            "select holdfast.end_delivery($1, $2, $3, $4, $5, $6)", taken.delivery_id, taken.token, *ending
        )
        return state
