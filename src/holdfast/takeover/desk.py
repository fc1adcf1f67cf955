"""Everything about takeovers in one hand: find the old table, take it over, undo that, look."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.db.connection import Database
from holdfast.engine.pipeline import Pipeline
from holdfast.settings import Settings
from holdfast.takeover.old_table import OldTable
from holdfast.takeover.opening import opened_table
from holdfast.takeover.originals import Files
from holdfast.takeover.plan import Plan
from holdfast.takeover.taking import Taking
from holdfast.takeover.undoing import Undone, undo


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """`files_below` gives the old files below a folder, `delete` removes a document with all that was made of it."""

    database: Database
    settings: Settings
    actor: str
    declared: Callable[[], Sequence[Pipeline]]
    files_below: Callable[[Path], Files]
    delete: Callable[[int], Awaitable[object]]

    @asynccontextmanager
    async def table(self, plan: Plan, *, url: str | None) -> AsyncIterator[OldTable]:
        """The table that the plan names, in the database of that URL or in Holdfast's own."""
        async with opened_table(self.database, self.settings, url=url, table=plan.table, columns=plan.columns) as table:
            yield table

    def taking(self, table: OldTable, plan: Plan, *, files: Path | None) -> Taking:
        """What takes that table over, with the files below that folder."""
        old_files = None if files is None else self.files_below(files)
        return Taking(self.database, table, plan, files=old_files, actor=self.actor, declared=self.declared())

    async def undo(
        self, plan: Plan, *, url: str | None, discard_work: bool, on_progress: Callable[[int], None]
    ) -> Undone:
        """Remove what a takeover made; what was worked on since only if that is meant. Opens no other database."""
        return await undo(
            self.database,
            plan.table,
            source=url,
            actor=self.actor,
            discard=self.delete if discard_work else None,
            on_progress=on_progress,
        )


async def takeovers(database: Database) -> list[dict[str, Any]]:
    """Every takeover, the newest first, with how many rows are in which flow."""
    return [dict(row) for row in await database.fetch("select * from holdfast.takeovers()")]
