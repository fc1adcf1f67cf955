"""The API as callers meet it: served on a free port of loopback, over a database and folders of the test's own."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from holdfast.access.keys import Scope
from holdfast.api.server import build
from holdfast.app import App, open_app
from holdfast.artifacts.artifact import Artifact
from holdfast.artifacts.upload import Upload
from holdfast.engine.queue import Queue
from holdfast.settings import Settings
from tests.engine.scenario import WORKER, Scenario

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Served:
    """The API at work. `client` sends no key of itself."""

    app: App
    client: httpx2.AsyncClient
    server: uvicorn.Server
    port: int

    async def key(self, organisation: str | None, scope: Scope = Scope.ADMIN) -> dict[str, str]:
        """Headers with a new key."""
        made = await self.app.keys.create("test", scope=scope, organisation=organisation, actor="test")
        return bearer(made.secret)

    async def upload(self, content: bytes = b"The ferry leaves at noon.", **form: Any) -> httpx2.Response:
        """Send a file in; `name` and `headers` besides the form's fields."""
        name, headers = form.pop("name", "ferry.txt"), form.pop("headers", None)
        return await self.client.post("/v1/documents", files={"file": (name, content)}, data=form, headers=headers)

    async def worker(self) -> Scenario:
        """Someone who speaks for a worker of the documents' pipeline."""
        scenario = Scenario(self.app.database, Queue(self.app.database), "documents")
        await scenario.register_worker(WORKER)
        return scenario

    async def count(self, table: str) -> int:
        """How many rows there are."""
        rows: int = await self.app.database.fetchval(f"select count(*) from holdfast.{table}")
        return rows

    def stored_files(self) -> list[Path]:
        """Every file of the artifact store, half-written ones too."""
        return [path for path in (self.app.settings.home / "artifacts").rglob("*") if path.is_file()]

    async def calm(self) -> None:
        """Come back when the server has no call at hand."""
        await until(lambda: not self.server.server_state.tasks)


@asynccontextmanager
async def serving(dsn: str, home: Path, *, asks_for_keys: bool, **settings: Any) -> AsyncIterator[Served]:
    """Serve the API until the block ends."""
    async with open_app(Settings(database_url=dsn, home=home, **settings)) as app:
        await app.register()
        config = uvicorn.Config(
            build(app, asks_for_keys=asks_for_keys),
            port=0,
            log_config=None,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        running = asyncio.create_task(server._serve())  # without its hold on the signals of the test's process
        try:
            await until(lambda: server.started or running.done())
            port = server.servers[0].sockets[0].getsockname()[1]
            # Nothing to verify here, and reading the authorities takes longer than most calls.
            async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60, verify=False) as client:
                yield Served(app, client, server, port)
        finally:
            server.should_exit = True
            await running


async def keep(
    served: Served, document_id: int, kind: str, content: bytes, *, organisation: str = "default"
) -> Artifact:
    """Have a document keep this content, as a phase would."""
    upload = Upload(served.app.database, served.app.assembly.store, organisation)
    artifact = await upload.put_bytes(content)
    async with served.app.database.transaction() as connection:
        await upload.use(connection, document_id, {kind: artifact})
    return artifact


async def until(question: Callable[[], object]) -> None:
    """Ask again and again until the answer is yes."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not question():
            await asyncio.sleep(0.005)


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def problem(response: httpx2.Response, status: int) -> str:
    """The code of an answer that must be a problem of this status."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    code: str = body["code"]
    return code
