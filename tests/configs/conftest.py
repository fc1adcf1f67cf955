"""A Holdfast of the test's own, to which configuration archives are given."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import App, open_for_worker
from holdfast.configs.questions import Run
from holdfast.intake.found import Found
from holdfast.intake.intake import Taken
from holdfast.pipelines import CONFIGS
from holdfast.settings import Settings

# Quick to tell how far it is and to look for who was lost, and never so slow that it counts as lost itself.
ATTENTIVE = {"heartbeat_seconds": 1.0, "lease_seconds": 60.0, "sweep_seconds": 0.5}


@dataclass(frozen=True, slots=True)
class Desk:
    """Takes archives in and works them off."""

    app: App
    settings: dict[str, Any]

    async def take_in(self, data: bytes, name: str = "app.tgz", organisation: str = "acme") -> Taken:
        """Bring an archive in; nothing runs yet."""
        found = Found(name=name, platform="upload", location=None, content=BytesIO(data))
        (taken,) = [one async for one in self.app.intake(CONFIGS).take_in([found], organisation=organisation)]
        return taken

    async def work(self, **choice: Any) -> None:
        """Run a worker until nothing is left to claim."""
        await self.app.worker(only_pipelines=(CONFIGS,), **choice).run(until_idle=True)

    async def run(self, data: bytes, name: str = "app.tgz", organisation: str = "acme") -> Run:
        """Bring an archive in and to its end."""
        taken = await self.take_in(data, name, organisation)
        await self.work()
        assert taken.document_id is not None
        return await self.app.configs.show(taken.document_id, limit=1000)

    async def job(self) -> dict[str, Any]:
        """The last job of all."""
        row = await self.app.database.fetchrow("select * from holdfast.pipeline_job order by id desc limit 1")
        assert row is not None
        return dict(row)

    async def rows(self, run: int) -> dict[str, list[tuple[Any, ...]]]:
        """Everything that is stored of a run, but whose it is."""
        columns = {
            "file": "number, source_path, file, encoding",
            "stanza": "file_number, number, file, name, source_path, line",
            "setting": "file_number, stanza_number, line, key, value",
            "parse_error": "file_number, line, message, text",
        }
        return {
            table: [
                tuple(row)
                for row in await self.app.database.fetch(
                    f"select {named} from holdfast.config_{table} where document_id = $1 order by {named}", run
                )
            ]
            for table, named in columns.items()
        }


@pytest.fixture
async def desk(dsn: str, tmp_path: Path) -> AsyncIterator[Desk]:
    store = tmp_path / "store"
    store.mkdir()
    settings = {"database_url": dsn, "home": tmp_path / "home", "storage_url": store.as_uri(), **ATTENTIVE}
    async with open_for_worker(Settings(**settings)) as app:
        await app.register()
        yield Desk(app, settings)
