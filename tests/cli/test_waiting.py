"""What goes on for long waits for its database; what answers and ends says so at once."""

import asyncio
import json
import signal
import socket
import subprocess
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from holdfast.db.connection import Database
from tests.cli.conftest import SECONDS, CommandLine
from tests.endpoint import Endpoint, with_database, with_user
from tests.proxy import Proxy

FILES = 200
LASTING = (("worker",), ("up", "--port", "0"), ("serve", "--port", "0"))


def _free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        return int(taken.getsockname()[1])


def _said(process: "subprocess.Popen[str]", what: str) -> str:
    """Its first line with these words, which must come before it ends."""
    assert process.stderr is not None
    heard = []
    for line in process.stderr:
        heard.append(line)
        if what in line:
            return line
    pytest.fail(f"it ended with {process.wait()} and never said {what}: {''.join(heard)}")


async def test_lasting_commands_wait_for_a_server_that_is_down(holdfast: CommandLine, dsn: str) -> None:
    port = _free_port()
    # A long lease: while the dashboard is imported on a busy machine nothing else runs, and that is not what is tested.
    down = holdfast.with_settings(
        HOLDFAST_DATABASE_URL=Endpoint.of(dsn).seen_through(port), HOLDFAST_LEASE_SECONDS="60"
    )
    with ExitStack() as stack:
        waiting = [stack.enter_context(down.started(*command)) for command in (*LASTING, LASTING[0], LASTING[2])]
        lines = [await asyncio.to_thread(_said, process, "database.awaited") for process in waiting]
        assert all("cannot reach the database" in json.loads(line)["error"] for line in lines)

        for process in waiting[3:]:  # who gives up waiting need not wait for that
            process.send_signal(signal.SIGINT)
        assert [await asyncio.to_thread(process.wait, SECONDS) for process in waiting[3:]] == [130, 130]

        async with Proxy(dsn, port=port):
            worker, up, serve = [
                json.loads(await asyncio.to_thread(_said, process, "database.connected")) for process in waiting[:3]
            ]
            await asyncio.to_thread(_said, waiting[0], "worker.started")
            for serving in waiting[1:3]:
                await asyncio.to_thread(_said, serving, "serving on")
            for process in waiting[:3]:
                process.send_signal(signal.SIGTERM)
            assert [await asyncio.to_thread(process.wait, SECONDS) for process in waiting[:3]] == [0, 0, 0]
    counts = [(said["connections"], said["pool"], said["listening"]) for said in (worker, up, serve)]
    pool = worker["pool"]
    assert counts == [(pool + 1, pool, 1), (pool + 1, pool, 1), (pool, pool, 0)]


@pytest.mark.parametrize("command", LASTING, ids=lambda command: command[0])
def test_lasting_command_ends_at_once_when_someone_must_act(
    holdfast: CommandLine, dsn: str, command: tuple[str, ...]
) -> None:
    result = holdfast.with_settings(HOLDFAST_DATABASE_URL=with_database(dsn, "nowhere")).run(*command)

    assert result.code == 1
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert "correct the database's name in HOLDFAST_DATABASE_URL" in result.err


@pytest.mark.thorough
async def test_fifteen_connections_are_enough_for_a_small_installation(
    desk: CommandLine, dsn: str, guest: str, database: Database, tmp_path: Path
) -> None:
    """`up`, two workers and an `ingest`: all done, none charged, nobody exits."""
    await database.execute(
        f'grant holdfast_worker, holdfast_api, holdfast_readonly to "{guest}"; alter role "{guest}" connection limit 15'
    )
    small = desk.with_settings(HOLDFAST_DATABASE_URL=with_user(dsn, guest))
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(FILES):
        (notes / f"{number}.txt").write_text(f"Note {number}: the tidal gate opens at {number % 24} o'clock.")

    with ExitStack() as stack:
        lasting = [stack.enter_context(small.started(*command)) for command in (LASTING[1], LASTING[0], LASTING[0])]
        for process in lasting:
            await asyncio.to_thread(_said, process, "worker.started")
        result = await asyncio.to_thread(small.run, "ingest", str(notes), "--json")
        assert [process.poll() for process in lasting] == [None] * 3, "one of them has ended"
        ended = await asyncio.gather(*(asyncio.to_thread(_end, process) for process in lasting))

    assert result.code == 0, result.err
    summary: Any = result.json
    assert (summary["states"], summary["failures"]) == ({"done": FILES}, [])
    assert await database.fetchval("select count(*) from holdfast.pipeline_phase where outcome = 'failed'") == 0
    assert await database.fetchval("select sum(retry_count) from holdfast.pipeline_job") == 0
    assert [code for code, _ in ended] == [0] * 3, ended


def _end(process: "subprocess.Popen[str]") -> tuple[int, str]:
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=SECONDS)
    return process.returncode, err
