"""Alerts: the database says which are on; someone has to ask it now and then."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from holdfast.db.connection import Database
from holdfast.engine import events
from holdfast.notices.receivers import Receivers

CHECK_SECONDS = 30.0
ACTOR = "settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """An alert from when it went on until it went off. `figures` are those of its beginning."""

    incident_id: int
    kind: str
    scope: str
    organisation: str | None
    opened_at: datetime
    closed_at: datetime | None
    message: str
    figures: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """As programs are answered."""
        return {name: getattr(self, name) for name in self.__slots__}


class Incidents:
    """The incidents of an installation, or of the organisation that the database is confined to."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self, *, limit: int = 50) -> list[Incident]:
        """Those still open first, then the newest."""
        return [
            Incident(**row)
            for row in await self._database.fetch("select * from holdfast.overview_incidents($1)", limit)
        ]

    async def check(self) -> None:
        """Open and close incidents as things stand now. Safe at any time, by any number of callers."""
        row = await self._database.fetchrow("select * from holdfast.check_alerts()")
        assert row is not None
        events.alerts_checked(opened=row["opened"], closed=row["closed"])

    async def keep_checking(self, *, mail_to: Sequence[str] = ()) -> None:
        """Check twice a minute until cancelled, with mail going to these addresses."""
        is_mail_arranged = not mail_to
        while True:
            try:
                if not is_mail_arranged:
                    await Receivers(self._database).mail_alerts_to(mail_to, actor=ACTOR)
                    is_mail_arranged = True
                await self.check()
            except Exception as error:  # whatever it is, it ends no look but this one
                events.alerts_not_checked(error)
            await asyncio.sleep(CHECK_SECONDS)
