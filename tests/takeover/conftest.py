"""An old installation beside Holdfast, in the same database."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App
from holdfast.assembly import Assembly
from holdfast.db.connection import Database
from holdfast.engine.queue import Queue
from holdfast.settings import Settings
from holdfast.takeover.old_table import find_table
from holdfast.takeover.plan import Plan
from holdfast.takeover.report import Report
from holdfast.takeover.taking import Taking
from holdfast.takeover.undoing import Undone
from tests.cli.conftest import CommandLine
from tests.takeover.old_database import TABLE


class Installation:
    """The old installation, and the verbs of its takeover."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.database: Database = app.database
        self.desk = app.takeover("alice")

    async def insert(self, *rows: Mapping[str, Any]) -> None:
        """Rows of the old table, by column."""
        for row in rows:
            places = ", ".join(f"${n}" for n in range(1, len(row) + 1))
            columns = ", ".join(row)
            sql = f"insert into public.documents ({columns}) values ({places})"
            await self.database.execute(sql, *row.values())

    async def change(self, key: int, status: str, state: str) -> None:
        """What the old installation does to a row of its own."""
        await self.database.execute(
            "update public.documents set status = $2, state = $3::text::public.old_state where id = $1",
            key,
            status,
            state,
        )

    async def taking(self, *, files: Path | None = None, **plan: Any) -> Taking:
        wanted = Plan(**{"pipeline": "documents", "organisation": "acme", **plan})
        table = await find_table(self.database, wanted.table, wanted.columns)
        return self.desk.taking(table, wanted, files=files)

    async def run(self, **plan: Any) -> Report:
        return await (await self.taking(**plan)).run(lambda _: None)

    async def check(self, **plan: Any) -> Report:
        return await (await self.taking(**plan)).check(lambda _: None)

    async def undo(self, *, url: str | None = None, discard_work: bool = False) -> Undone:
        plan = Plan(pipeline="documents", organisation="acme")
        return await self.desk.undo(plan, url=url, discard_work=discard_work, on_progress=lambda _: None)

    async def job(self, key: int | str) -> dict[str, Any]:
        """The job of a row, as people see it, with its own columns."""
        row = await self.database.fetchrow(
            "select j.* from holdfast.taken_row r join holdfast.pipeline_job j on j.id = r.job_id where r.key = $1",
            str(key),
        )
        assert row is not None
        return dict(row)

    async def flows(self) -> dict[str, str | None]:
        """Which flow each row that was read is in."""
        return {
            row["key"]: row["flow"] for row in await self.database.fetch("select key, flow from holdfast.taken_row")
        }


@pytest.fixture
async def old(database: Database, tmp_path: Path) -> Installation:
    """An empty old table in a database where the documents pipeline is known."""
    settings = Settings(home=tmp_path / "home")
    resources = AsyncExitStack()
    app = App(settings, database, resources)
    await Queue(database).register([Assembly(settings, database, resources).documents()])
    await database.execute(TABLE)
    return Installation(app)


@pytest.fixture
def desk(dsn: str, tmp_path: Path) -> CommandLine:
    """The command line of the same database."""
    settings = {"HOLDFAST_DATABASE_URL": dsn, "HOLDFAST_HOME": str(tmp_path / "home"), "HOLDFAST_PIPELINES": ""}
    return CommandLine(settings, tmp_path)
