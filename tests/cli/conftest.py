"""The real command line, run as a process of its own: forked from one that has imported it, where it answers and ends.

What stays until it is told to end is started as users start it, and so is what a test calls without these fixtures.
"""

import json
import os
import pty
import re
import subprocess
import sys
import termios
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from holdfast.db.connection import Database, connect
from holdfast.engine.classify import classify
from holdfast.engine.control import Control
from holdfast.engine.pipeline import Done
from holdfast.engine.queue import Lane, Queue, Submission, submit
from holdfast.errors import CorruptInput, NetworkTimeout
from holdfast.settings import Settings
from tests.cli.sample import reports
from tests.conftest import Server
from tests.endpoint import with_database

HERE = Path(__file__).parent
STARTED = (sys.executable, "-m", "holdfast.cli")
SECONDS = 90


@dataclass(frozen=True, slots=True)
class Result:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Runs `holdfast …` with these settings, where the sample pipeline can be imported."""

    settings: dict[str, str]
    directory: Path = field(default=HERE)
    program: tuple[str | Path, ...] = STARTED
    seconds: float = SECONDS
    starts: tuple[str | Path, ...] = STARTED

    def with_settings(self, **settings: str) -> "CommandLine":
        return replace(self, settings={**self.settings, **settings})

    def run(self, *arguments: str, stdin: str | None = None) -> Result:
        done = subprocess.run(
            [*self.program, *arguments],
            env=self.environment,
            cwd=self.directory,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=self.seconds,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def succeed(self, *arguments: str, stdin: str | None = None) -> Result:
        """Run it and insist on exit code 0."""
        result = self.run(*arguments, stdin=stdin)
        assert result.code == 0, result.err
        return result

    def submit(self, name: str, *options: str) -> int:
        """Take a document in and give its job."""
        result = self.succeed("submit", "reports", "--org", "acme", "--name", name, "--json", *options)
        return int(result.json["job_id"])

    @contextmanager
    def started(self, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
        """Start it; whatever is left of it at the end of the block is killed."""
        process = subprocess.Popen(
            [*self.starts, *arguments],
            env=self.environment,
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    @property
    def environment(self) -> dict[str, str]:
        """As users have it: output is buffered, and nothing of ours is set but what the test sets."""
        foreign = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        foreign.pop("PYTHONUNBUFFERED", None)
        return {**foreign, "HOLDFAST_PIPELINES": "sample:reports", **self.settings}

    def on_terminal(self, *arguments: str, types: str = "", columns: int = 80) -> "Seen":
        """Run it on a pseudo terminal of this width, with these keys pressed, and see what a person sees."""
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, columns))
        process = subprocess.Popen(
            [*self.program, *arguments],
            env={**self.environment, "TERM": "xterm-256color", "COLUMNS": str(columns)},
            cwd=self.directory,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        os.write(ours, types.encode())
        shown = b"".join(_read_all(ours))
        os.close(ours)
        return Seen(process.wait(self.seconds), shown.decode())


@dataclass(frozen=True, slots=True)
class Seen:
    """How a command on a terminal ended, and all it wrote there, colours included."""

    code: int
    raw: str

    @property
    def text(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", self.raw)


def _read_all(terminal: int) -> Iterator[bytes]:
    # An error is how a pseudo terminal says that nobody is left on the other side.
    with suppress(OSError):
        while part := os.read(terminal, 4096):
            yield part


@pytest.fixture
def holdfast(dsn: str, tmp_path: Path, ready_holdfast: Path) -> CommandLine:
    """The command line on a migrated database of the test's own."""
    settings = {"HOLDFAST_DATABASE_URL": dsn, "HOLDFAST_HOME": str(tmp_path / "home")}
    return CommandLine(settings, program=(ready_holdfast,))


@pytest.fixture
def desk(dsn: str, tmp_path: Path, ready_holdfast: Path) -> CommandLine:
    """The same for documents, in a folder of the test's own."""
    return CommandLine(_for_documents(dsn, tmp_path), tmp_path, (ready_holdfast,))


@asynccontextmanager
async def common_desk(server: Server, template: str, folder: Path, program: Path) -> AsyncIterator[CommandLine]:
    """The same for all tests of a module."""
    async with _own_database(server, template) as dsn:
        yield CommandLine(_for_documents(dsn, folder), folder, (program,))


def _for_documents(dsn: str, folder: Path) -> dict[str, str]:
    home = str(folder / "home")
    return {"HOLDFAST_DATABASE_URL": dsn, "HOLDFAST_HOME": home, "HOLDFAST_PIPELINES": "", "COLUMNS": "200"}


@asynccontextmanager
async def _own_database(server: Server, template: str) -> AsyncIterator[str]:
    name = f"holdfast_test_{uuid.uuid4().hex}"
    owner = await asyncpg.connect(server.dsn)
    await owner.execute(f'create database "{name}" template "{template}"')
    yield with_database(server.dsn, name)
    await owner.execute(f'drop database "{name}" with (force)')
    await owner.close()


@pytest.fixture
async def seeded(holdfast: CommandLine, database: Database) -> CommandLine:
    """The same with a history, for a test to change."""
    await _make_history(database)
    return holdfast


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def history(
    server: Server, template: str, ready_holdfast: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[CommandLine]:
    """The same history for all tests of a module that only read."""
    async with _own_database(server, template) as dsn:
        async with connect(Settings(database_url=dsn)) as database:
            await _make_history(database)
        settings = {"HOLDFAST_DATABASE_URL": dsn, "HOLDFAST_HOME": str(tmp_path_factory.mktemp("home"))}
        yield CommandLine(settings, program=(ready_holdfast,))


async def _make_history(database: Database) -> None:
    """Of 45 documents 15 were extracted, 3 embedded and 2 torn, 1 waits for its retry; three providers are held."""
    queue = Queue(database)
    await queue.register([reports])
    await queue.register_worker("worker-1", host="test", pid=1, lanes=[Lane("reports", "extract", 10)])
    names = [f"report-{number}.pdf" for number in range(1, 46)]
    items = [Submission(organisation="acme", source_name=name, metadata={"team": "sales"}) for name in names]
    await submit(database, "reports", items)
    claimed = await queue.claim("worker-1", [Lane("reports", "extract", 18)])
    await queue.settle([(attempt, Done({"pages": 3})) for attempt in claimed[:15]])
    await queue.fail([(claimed[15], classify(NetworkTimeout("no answer in 30 s")))])
    await queue.fail([(attempt, classify(CorruptInput("torn at byte 9"))) for attempt in claimed[16:]])
    for attempt in await queue.claim("worker-1", [Lane("reports", "embed", 3)]):
        await queue.reserve_budget(attempt, Decimal("0.01"))
        await queue.settle([(attempt, Done(cost_usd=Decimal("0.01")))])
    for provider in ("scanner", "translator", "speech"):
        await Control(database, "alice").hold({"provider": provider}, reason="their incident")
