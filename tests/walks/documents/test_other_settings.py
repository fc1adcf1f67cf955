"""A server or an ingest without the workers' settings changes nothing for them."""

import asyncio
import io
from pathlib import Path
from typing import Any

from holdfast.app import App, open_app, open_for_worker
from holdfast.engine.worker import Worker
from holdfast.intake.found import Found
from holdfast.settings import Settings
from tests.walks.documents.providers import Providers

TEXT = b"# The tidal gate\n\nThe Harbour Office opened the tidal gate. The Harbour Office is glad.\n"
LOOKS = 600
MODEL = "language model"


async def test_worker_goes_on_with_its_model_when_a_server_without_one_starts(dsn: str, tmp_path: Path) -> None:
    async with Providers() as providers, open_for_worker(_settings(dsn, tmp_path, **providers.settings)) as app:
        async with app.assembly.children:
            worker = app.worker()
            working = asyncio.create_task(worker.run())
            try:
                await _until_registered(app, worker)
                async with open_app(_settings(dsn, tmp_path)) as server:
                    await server.register()
                    job = await _take_in(server)
                ended = await _ended(app, job)
            finally:
                worker.stop()
                await working
        assert (ended["state"], ended["last_error"]) == ("done", None)
        assert ended["total_cost_usd"] > 0
        assert await _model_of(app, "chunk") == MODEL


async def test_ingest_without_a_model_works_for_itself_and_leaves_what_workers_declared(
    dsn: str, tmp_path: Path
) -> None:
    async with Providers() as providers:
        async with open_app(_settings(dsn, tmp_path, **providers.settings)) as app:
            await app.register()
        async with open_for_worker(_settings(dsn, tmp_path)) as app, app.assembly.children:
            job = await _take_in(app)
            await app.worker().run(until_idle=True)
            ended = await _ended(app, job)
            assert (ended["state"], ended["last_error"]) == ("done", None)
            assert await _model_of(app, "chunk") == MODEL
        assert providers.calls == []


def _settings(dsn: str, home: Path, **more: Any) -> Settings:
    return Settings(database_url=dsn, home=home, **more)


async def _take_in(app: App) -> int:
    found = Found(name="gate.md", platform="upload", content=io.BytesIO(TEXT))
    (taken,) = [taken async for taken in app.intake("documents").take_in([found], organisation="acme")]
    assert taken.job_id is not None
    return taken.job_id


async def _until_registered(app: App, worker: Worker) -> None:
    for _ in range(LOOKS):
        if worker.id and await app.database.fetchval("select exists (select from holdfast.worker)"):
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the worker never registered")


async def _ended(app: App, job_id: int) -> dict[str, Any]:
    for _ in range(LOOKS):
        row = await app.database.fetchrow("select * from holdfast.pipeline_job where id = $1", job_id)
        assert row is not None
        if row["state"] not in ("queued", "working"):
            return dict(row)
        await asyncio.sleep(0.1)
    raise AssertionError(f"the job is still {row['state']} in {row['phase']}")


async def _model_of(app: App, phase: str) -> str | None:
    provider: str | None = await app.database.fetchval(
        "select provider from holdfast.phase where pipeline = 'documents' and name = $1", phase
    )
    return provider
