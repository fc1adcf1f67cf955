"""A worker dies after half of the stanzas: another one finishes the run, as if nothing had happened."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tests.configs.conftest import Desk
from tests.extract.readers.archive_samples import tar_of
from tests.walks.documents.gate import WAITING
from tests.walks.documents.ground import until
from tests.walks.documents.worker_process import WorkerProcess
from tests.walks.losing import lose

FILES, STANZAS, SETTINGS = 60, 10, 10
HALF = FILES // 2
INSTALL = f"""
create function public.wait_at_gate() returns trigger language plpgsql as $$
begin
    perform pg_advisory_xact_lock(1);
    return new;
end $$;
create trigger gate before insert on holdfast.config_setting for each row
when (new.file_number > {HALF}) execute function public.wait_at_gate();
"""


def archive() -> bytes:
    """So much that it is stored in several batches, with some of everything."""
    stanza = "".join(f"key_{n} = value\n" for n in range(SETTINGS))
    text = "default = 1\n" + "".join(f"[stanza {n}]\n{stanza}nonsense\n" for n in range(STANZAS)) + "[stanza 0]\n"
    return tar_of(((f"app/{number}.conf", text.encode()) for number in range(FILES)), "w:gz")


@pytest.fixture
async def keeper(dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Keeps the gate in the middle of the run closed, until told otherwise."""
    connection = await asyncpg.connect(dsn)
    await connection.execute(f"{INSTALL}; select pg_advisory_lock(1)")
    yield connection
    await connection.close()


async def test_run_of_a_killed_worker_ends_as_an_undisturbed_one(
    desk: Desk, keeper: "asyncpg.Connection[asyncpg.Record]", tmp_path: Path
) -> None:
    taken = await desk.take_in(archive())
    run = taken.document_id
    assert run is not None
    worker = WorkerProcess(desk.settings, tmp_path / "worker.log")
    await worker.start("--pipeline", "configs")
    try:
        await until(lambda: _is_half_way(desk, run, keeper.get_server_pid()), 60)
        await until(lambda: _tells_progress(desk), 60)
    finally:
        await worker.kill()
    half = len((await desk.rows(run))["stanza"])
    end_them = f"select pg_terminate_backend(pid, 5000) from ({WAITING}) as w"
    await keeper.execute(end_them, keeper.get_server_pid())
    await keeper.execute("select pg_advisory_unlock_all()")
    await _until_done(desk, worker.pid)
    undisturbed = await desk.run(archive(), organisation="undisturbed")
    assert 0 < half < FILES * (STANZAS + 1)
    assert await desk.rows(run) == await desk.rows(undisturbed.run)
    assert len((await desk.rows(run))["stanza"]) == FILES * (STANZAS + 1)
    outcomes = await desk.app.database.fetch(
        "select outcome from holdfast.pipeline_phase where document_id = $1 and phase = 'parse' order by token", run
    )
    assert [row["outcome"] for row in outcomes] == ["lost", "completed"]
    assert await desk.app.examine() == []


async def _is_half_way(desk: Desk, run: int, keeper: int) -> bool:
    waits = await desk.app.database.fetchval(f"select exists ({WAITING})", keeper)
    return waits is True and (await desk.rows(run))["setting"] != []


async def _tells_progress(desk: Desk) -> bool:
    """Whether an operator sees that it is neither at its beginning nor at its end."""
    progress = (await desk.app.overview.job((await desk.job())["id"]))["attempts"][-1]["progress"]
    return progress is not None and 0.3 < progress < 1


async def _until_done(desk: Desk, killed: int) -> None:
    worker = desk.app.worker(only_pipelines=("configs",))
    running = asyncio.create_task(worker.run())
    try:
        await lose(desk.app.database, pid=killed)
        await until(lambda: _is_done(desk), 60)
    finally:
        worker.stop()
        await running


async def _is_done(desk: Desk) -> bool:
    return bool((await desk.job())["state"] == "done")
