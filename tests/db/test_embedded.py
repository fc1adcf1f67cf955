"""The embedded server: joined by many, stopped by the last one out, never blocked by the dead."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest

from holdfast.db.connection import connect
from holdfast.db.embedded import EmbeddedServer, embedded
from holdfast.errors import DatabaseUnavailable
from tests.conftest import OwnServer

User = subprocess.Popen[str]
Starter = Callable[[], User]

USER_PROGRAM = Path(__file__).with_name("embedded_user.py")


@pytest.fixture
def home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="holdfast-home-"))
    yield home
    server = EmbeddedServer(home, durable=False)
    if server.pid is not None:
        server.join()
        server.leave()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def start_user(home: Path) -> Iterator[Starter]:
    users: list[User] = []

    def start() -> User:
        command = [sys.executable, str(USER_PROGRAM), str(home)]
        users.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return users[-1]

    yield start
    for user in users:
        user.kill()
        user.communicate()


def _ready(user: User) -> str:
    assert user.stdout is not None
    return user.stdout.readline().strip()


def _end(user: User) -> str:
    return user.communicate(timeout=60)[0].strip()


def test_second_process_joins_the_running_server(home: Path, start_user: Starter) -> None:
    _ready(start_user())
    pid = EmbeddedServer(home).pid
    _ready(start_user())
    assert EmbeddedServer(home).pid == pid


def test_server_outlives_its_starter_while_another_uses_it(home: Path, start_user: Starter) -> None:
    starter, other = start_user(), start_user()
    _ready(starter)
    _ready(other)
    _end(starter)
    assert _end(other) == "still here"


def test_last_one_out_stops_the_server(home: Path, start_user: Starter) -> None:
    users = [start_user(), start_user()]
    for user in users:
        _ready(user)
    for user in users:
        _end(user)
    assert EmbeddedServer(home).pid is None


def test_killed_starter_does_not_disturb_the_other(home: Path, start_user: Starter) -> None:
    starter = start_user()
    _ready(starter)
    other = start_user()
    _ready(other)
    starter.kill()
    starter.wait()
    assert _end(other) == "still here"


def test_killed_process_does_not_keep_the_server_alive(home: Path, start_user: Starter) -> None:
    killed, last = start_user(), start_user()
    _ready(killed)
    _ready(last)
    killed.kill()
    killed.wait()
    _end(last)
    assert EmbeddedServer(home).pid is None


def test_ten_processes_start_at_once(home: Path, start_user: Starter) -> None:
    users = [start_user() for _ in range(10)]
    assert len({_ready(user) for user in users} - {""}) == 1
    assert [_end(user) for user in users] == ["still here"] * 10


def test_ctrl_c_in_the_terminal_does_not_reach_the_server(home: Path, start_user: Starter) -> None:
    _ready(start_user())
    pid = EmbeddedServer(home).pid
    assert pid is not None
    assert os.getsid(pid) != os.getsid(0)


async def test_server_starts_again_after_its_postmaster_was_killed(own_server: OwnServer) -> None:
    own_server.kill()
    async with embedded(own_server.home, durable=False) as dsn:
        connection = await asyncpg.connect(dsn)
        assert await connection.fetchval("select 1") == 1
        await connection.close()


@pytest.fixture
def stranger(own_server: OwnServer) -> Iterator[int]:
    """The id of a process that belongs to the server's account and is not the server."""
    account = (own_server.home / "postgres" / "data").stat().st_uid
    process = subprocess.Popen(["sleep", "600"], user=account if os.geteuid() == 0 else None)
    yield process.pid
    process.kill()
    process.wait()


async def _answer(dsn: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval("select 'here'")
    finally:
        await connection.close()


async def test_stale_process_id_of_a_stranger_does_not_block_the_start(own_server: OwnServer, stranger: int) -> None:
    own_server.server.leave()
    pid_file = own_server.home / "postgres" / "data" / "postmaster.pid"
    pid_file.write_text(f"{stranger}\n{pid_file.parent}\n0\n5432\n\n\n\nready\n")
    async with embedded(own_server.home, durable=False) as dsn:
        assert await _answer(dsn) == "here"


async def test_running_process_revives_a_killed_server(own_server: OwnServer) -> None:
    async with connect(own_server.settings) as database:
        await database.execute("select 1")
        own_server.kill()
        deadline = time.monotonic() + 60
        answer = None
        while answer is None and time.monotonic() < deadline:
            with contextlib.suppress(DatabaseUnavailable):
                answer = await database.fetchval("select 'back'")
        assert answer == "back"


@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_restart_keeps_what_was_committed(own_server: OwnServer, mode: str) -> None:
    async with connect(own_server.settings) as database:
        await database.execute("create table kept (value integer)")
        await database.execute("insert into kept values (42)")
    own_server.server.restart("fast" if mode == "fast" else "immediate")
    async with connect(own_server.settings) as database:
        assert await database.fetchval("select value from kept") == 42


@pytest.mark.parametrize("temporary", [None, "t" * 120])
async def test_home_longer_than_a_socket_path_works(
    home: Path, temporary: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if temporary is not None:
        (home / temporary).mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(home / temporary))
    long_home = home / ("x" * 120)
    async with embedded(long_home, durable=False) as dsn:
        assert await _answer(dsn) == "here"


def test_server_of_another_account_is_known_where_the_system_hides_its_folder(
    own_server: OwnServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = own_server.server.pid

    def hide(process: psutil.Process) -> str:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "cwd", hide)
    assert pid is not None
    assert own_server.server.pid == pid
    own_server.kill()
    assert own_server.server.pid is None


async def test_killed_initialisation_does_not_block_the_next(home: Path) -> None:
    (home / "postgres" / "initdb-abandoned").mkdir(parents=True)
    (home / "postgres" / "initdb-abandoned" / "PG_VERSION").write_text("18")
    async with embedded(home, durable=False) as dsn:
        await (await asyncpg.connect(dsn)).close()
    assert not (home / "postgres" / "initdb-abandoned").exists()


async def test_durability_is_on_unless_refused(home: Path) -> None:
    async with embedded(home) as dsn:
        connection = await asyncpg.connect(dsn)
        settings = [await connection.fetchval(f"show {name}") for name in ("fsync", "synchronous_commit")]
        await connection.close()
    assert settings == ["on", "on"]
