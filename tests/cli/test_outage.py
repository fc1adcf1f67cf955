"""The database goes away while documents are carried: `ingest` waits for it, says so once, and can be left."""

import asyncio
import json
import signal
import subprocess
from pathlib import Path

import asyncpg
import pytest

from holdfast.app import open_for_worker
from holdfast.cli import carrying
from holdfast.cli.picture import shown
from holdfast.cli.request import Request
from holdfast.db.cluster import Cluster
from holdfast.settings import Settings
from tests.cli.conftest import SECONDS, CommandLine
from tests.conftest import OwnServer
from tests.proxy import Proxy

# More than one batch: some are still to be submitted when the first are seen.
FILES = 130
AWAY = "the database is away"
CHARGED = "select count(*) from holdfast.pipeline_job where retry_count > 0 or last_error is not null"


def _notes(folder: Path, about: str, files: int = FILES) -> str:
    (folder / about).mkdir()
    for number in range(files):
        (folder / about / f"{number}.txt").write_text(f"Note {number} on {about}: the gate opens at {number} o'clock.")
    return str(folder / about)


def _heard(process: "subprocess.Popen[str]", what: str) -> str:
    """What it says up to a line with these words; all of it when they do not come."""
    assert process.stderr is not None
    heard = ""
    for line in process.stderr:
        heard += line
        if what in line:
            break
    return heard


async def _count(dsn: str, query: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        return int(await connection.fetchval(query))
    finally:
        await connection.close()


async def _documents(dsn: str, *, more_than: int) -> None:
    async with asyncio.timeout(SECONDS):
        while await _count(dsn, "select count(*) from holdfast.document") <= more_than:
            await asyncio.sleep(0.02)


@pytest.mark.thorough
async def test_ingest_outlives_a_database_that_is_stopped_and_started(own_server: OwnServer, tmp_path: Path) -> None:
    dsn, cluster = own_server.server.dsn, Cluster(own_server.home / "postgres", durable=False)
    desk = CommandLine(
        {"HOLDFAST_DATABASE_URL": dsn, "HOLDFAST_HOME": str(tmp_path / "home"), "HOLDFAST_PIPELINES": ""}, tmp_path
    )
    await asyncio.to_thread(desk.succeed, "migrate")

    with desk.started("ingest", _notes(tmp_path, "tides"), "--json") as process:
        await _documents(dsn, more_than=0)
        await asyncio.to_thread(cluster.stop, "fast")
        heard = await asyncio.to_thread(_heard, process, AWAY)
        assert AWAY in heard, heard
        await asyncio.to_thread(own_server.server.ensure_running)
        out, err = await asyncio.to_thread(process.communicate, timeout=SECONDS)
    assert (process.returncode, err) == (0, "")
    assert heard.count("\n") == 1
    summary = json.loads(out)
    assert (summary["taken_in"], summary["states"]) == ({"created": FILES}, {"done": FILES})
    assert await _count(dsn, CHARGED) == 0

    with desk.started("ingest", _notes(tmp_path, "locks")) as process:
        await _documents(dsn, more_than=FILES)
        await asyncio.to_thread(cluster.stop, "fast")
        await asyncio.to_thread(_heard, process, AWAY)
        process.send_signal(signal.SIGINT)
        out, err = await asyncio.to_thread(process.communicate, timeout=SECONDS)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1].startswith("error: interrupted before the database could sum up"), err
    refused = await asyncio.to_thread(desk.run, "ingest", str(tmp_path / "locks"))
    assert (refused.code, refused.err.count("\n")) == (1, 1)

    await asyncio.to_thread(own_server.server.ensure_running)
    again = await asyncio.to_thread(desk.succeed, "ingest", str(tmp_path / "locks"), "--json")
    assert sum(again.json["taken_in"].values()) == FILES
    assert await _count(dsn, "select count(*) from holdfast.pipeline_job where state = 'done'") == 2 * FILES
    assert await _count(dsn, CHARGED) == 0


async def test_ingest_looks_again_soon_after_an_outage(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """How long it waits for the next look follows from what a look costs: counting the outage, it would be minutes."""
    monkeypatch.setattr(carrying, "LOOK_SHARE", 0.01)
    request = Request(
        sources=(_notes(tmp_path, "tides", files=20),),
        organisation=None,
        pipeline="documents",
        name=None,
        metadata={},
        priority=100,
        watch=False,
        wait=True,
    )
    async with Proxy(dsn) as proxy, open_for_worker(Settings(database_url=proxy.dsn, home=tmp_path / "home")) as app:
        with shown(quiet=True) as picture:
            working = asyncio.create_task(carrying.carry(app, request, picture))
            await _documents(dsn, more_than=0)
            proxy.refuse()
            async with asyncio.timeout(SECONDS):
                while AWAY not in capsys.readouterr().err:
                    await asyncio.sleep(0.1)
            await asyncio.sleep(2)
            proxy.restore()
            async with asyncio.timeout(SECONDS):
                summary = await working
    assert summary is not None
    assert summary["states"] == {"done": 20}
