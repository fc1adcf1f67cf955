"""The forked command line is to be told from the installed one by its speed alone."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from holdfast.db.connection import Database

INSTALLED = Path(sys.executable).with_name("holdfast")


def _ended(program: Path, *arguments: str, folder: Path, **variables: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [program, *arguments],
        env={"PATH": os.defpath, "HOLDFAST_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing", **variables},
        cwd=folder,
        input='{"source_name": 5}',
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "call", ["--version", "jobs --help", "nonsense", "status", "submit reports --org acme --file -", "ingest here"]
)
def test_it_prints_the_same_and_ends_the_same(call: str, ready_holdfast: Path, tmp_path: Path) -> None:
    forked, installed = (
        _ended(program, *call.split(), folder=tmp_path, COLUMNS="60") for program in (ready_holdfast, INSTALLED)
    )
    assert forked == installed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_it_ends_when_its_caller_is_told_to(
    number: signal.Signals, ready_holdfast: Path, dsn: str, database: Database
) -> None:
    environment = {"PATH": os.defpath, "HOLDFAST_DATABASE_URL": dsn}
    caller = await asyncio.create_subprocess_exec(ready_holdfast, "worker", env=environment, stderr=subprocess.PIPE)
    assert caller.stderr is not None
    async with asyncio.timeout(60):
        while b"worker.started" not in await caller.stderr.readline():
            pass
    forked = psutil.Process(await database.fetchval("select pid from holdfast.worker"))
    caller.send_signal(number)
    code = await caller.wait()
    forked.wait(60)

    assert code == (0 if number == signal.SIGTERM else -number)
