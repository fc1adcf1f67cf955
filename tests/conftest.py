"""Real servers for every test: one embedded, one external when HOLDFAST_TEST_DATABASE_URL names it."""

import asyncio
import os
import shutil
import signal
import tempfile
import time
import uuid
import zlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest
import pytest_asyncio
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from holdfast.db.cluster import Cluster
from holdfast.db.connection import Database, connect
from holdfast.db.embedded import EmbeddedServer
from holdfast.db.migrations import migrate
from holdfast.schema import FUNCTIONS
from holdfast.settings import Settings
from tests.endpoint import with_database
from tests.forking.ready import ready_command
from tests.once import once
from tests.recycling import Recycling

EXTERNAL_URL = os.environ.get("HOLDFAST_TEST_DATABASE_URL")
SERVERS = ["embedded", "external"] if EXTERNAL_URL else ["embedded"]
# Where SQL is what is tested. Elsewhere the server makes no difference, and time is what the suite has least of.
BOTH_SERVERS = (
    "chunk",
    "configs",
    "engine",
    "graph",
    "intake",
    "notices",
    "publish",
    "readings",
    "search",
    "stories",
    "takeover",
)
# Of these every test: the walls between organisations, and the waits and counters of every kind of failure.
WHOLLY_ON_BOTH = ("access", "db", "stories/test_categories.py")
WHOLE_MODULES = ("tests/db/test_setups.py", "tests/plans/", "tests/test_base_install.py", "tests/walks/documents/")
# Begun first: what takes a quarter of a minute must not be what everyone waits for in the end.
LONG = (
    "tests/api/test_contract.py",
    "tests/cli/test_reference.py::test_every_example",
    "tests/cli/test_worker.py",
    "tests/dashboard/",
    "tests/db/test_embedded.py",
    "tests/engine/test_doctor_under_load.py",
    "tests/engine/test_fairness.py",
    "tests/engine/test_property.py",
    "tests/sandbox/",
    "tests/supabase/",
    "tests/takeover/test_whole.py",
    "tests/test_base_install.py",
    "tests/test_docs.py::test_page",
    "tests/test_docs.py::test_the_tour",
    "tests/test_example.py",
    "tests/walks/",
)

# Who waits for a connection here is no user: on a busy machine it may take longer than one would stand.
CONNECT_SECONDS = 60.0

# Outside pytest's own directory: that one is made private again by every new run, and the embedded server,
# which does not run as root, would be locked out.
RUN_HOME = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    shared = getattr(config, "workerinput", {}).get("run_home")
    config.stash[RUN_HOME] = Path(shared or tempfile.mkdtemp(prefix="holdfast-tests-"))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # So shells start what runs in the background, and every command that a test interrupts would not listen either.
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: "pytest.Config") -> None:
    node.workerinput["run_home"] = str(node.config.stash[RUN_HOME])


class Turns(LoadScopeScheduling):
    """Gives each process one test after another, but whole modules where what tests share costs more than they do."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0] if nodeid.startswith(WHOLE_MODULES) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Turns:
    return Turns(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


def pytest_unconfigure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    run_home = config.stash[RUN_HOME]
    if EXTERNAL_URL and (run_home / "external.done").exists():
        asyncio.run(_drop(EXTERNAL_URL, _template_name(run_home)))
    Cluster(run_home / "postgres").stop("immediate")
    shutil.rmtree(run_home, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Server:
    """A PostgreSQL that tests share; `dsn` is a superuser's."""

    name: str
    dsn: str
    recycling: Recycling = field(default_factory=Recycling)

    async def end(self) -> None:
        for name in self.recycling.all_clean():
            await _drop(self.dsn, name)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """A file may hold the time of its making: named by its bytes, a test would have another name in each process."""
    return argname if isinstance(val, bytes) and len(val) > 8 else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on the server that it names, or else on each in turn where its room asks for that."""
    chosen = any("server" in str(mark.args[:1]) for mark in metafunc.definition.iter_markers("parametrize"))
    if "server" in metafunc.fixturenames and not chosen:
        servers = SERVERS if _runs_on_both(metafunc.definition) else SERVERS[:1]
        metafunc.parametrize("server", servers, indirect=True, scope="session")


def _runs_on_both(test: pytest.Item) -> bool:
    """Of most rooms every third test, always the same ones: enough to meet their SQL, in a third of the time."""
    place = test.path.relative_to(Path(__file__).parent)
    room = place.parts[0]
    return not {room, place.as_posix()}.isdisjoint(WHOLLY_ON_BOTH) or (
        room in BOTH_SERVERS and zlib.crc32(test.nodeid.encode()) % 3 == 0
    )


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """The server that the test asks for."""
    if request.param == "external":
        assert EXTERNAL_URL is not None
        external = Server("external", EXTERNAL_URL)
        yield external
        asyncio.run(external.end())
        return
    embedded = EmbeddedServer(request.config.stash[RUN_HOME], durable=False)
    embedded.join()
    yield Server("embedded", embedded.dsn)
    embedded.leave()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def template(server: Server, request: pytest.FixtureRequest) -> str:
    """The name of a migrated database to copy, made once per run however many processes share it."""
    run_home = request.config.stash[RUN_HOME]
    name = _template_name(run_home)
    with once(run_home / server.name) as first:
        if first:
            await _execute(server.dsn, f'create database "{name}"')
            settings = Settings(database_url=with_database(server.dsn, name))
            async with connect(settings, connect_seconds=CONNECT_SECONDS) as database:
                await migrate(database, functions=FUNCTIONS)
    return name


@pytest.fixture
async def empty_dsn(server: Server) -> AsyncIterator[str]:
    """A database of the test's own, with nothing in it."""
    name = f"holdfast_test_{uuid.uuid4().hex}"
    await _execute(server.dsn, f'create database "{name}"')
    yield with_database(server.dsn, name)
    await _drop(server.dsn, name)


@pytest.fixture
async def dsn(server: Server, template: str) -> AsyncIterator[str]:
    """A migrated, empty database of the test's own."""
    name = server.recycling.take()
    if name is None:
        name = f"holdfast_test_{uuid.uuid4().hex}"
        await _execute(server.dsn, f'create database "{name}" template "{template}"')
        # No test of these databases stops their server, and waiting for its disk is most of what small commits take.
        await _execute(server.dsn, f'alter database "{name}" set synchronous_commit = off')
        server.recycling.register(server.dsn, name)
    yield with_database(server.dsn, name)
    if not server.recycling.give_back(name):
        await _drop(server.dsn, name)


@pytest.fixture
async def guest(server: Server) -> AsyncIterator[str]:
    """The name of a role that may log in and nothing else."""
    name = f"holdfast_guest_{uuid.uuid4().hex}"
    await _execute(server.dsn, f'create role "{name}" login')
    yield name
    await _execute(server.dsn, f'drop role "{name}"')


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    """Connections to the migrated database of the test's own."""
    async with connect(Settings(database_url=dsn), connect_seconds=CONNECT_SECONDS) as database:
        yield database


@pytest.fixture(scope="session")
def ready_holdfast(request: pytest.FixtureRequest) -> Iterator[Path]:
    """The command line as a program in a folder of its own: imported beforehand, and forked at each call."""
    with ready_command(Path(tempfile.mkdtemp(prefix="ready-", dir=request.config.stash[RUN_HOME]))) as program:
        yield program


class Clock:
    """The database's clock, which moves on when told to."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def advance(self, **by: float) -> None:
        """Move on, as in `advance(hours=12)`; real time passes besides."""
        await self._database.execute("update public.test_clock set shift = shift + $1", timedelta(**by))

    async def advance_to_noon(self) -> None:
        """Move on to the next noon, UTC."""
        await self._database.execute(
            """
            update public.test_clock
            set shift = shift + date_trunc('day', moment - interval '12 hours', 'UTC') + interval '36 hours' - moment
            from holdfast.clock() moment
            """
        )


@pytest.fixture
async def clock(database: Database) -> Clock:
    """The one time seam: every time the engine sees comes from holdfast.clock()."""
    await database.execute(
        """
        create table public.test_clock (shift interval not null);
        insert into public.test_clock values ('0');
        grant select on public.test_clock to public;
        create or replace function holdfast.clock() returns timestamptz
        language sql volatile as $$ select clock_timestamp() + shift from public.test_clock $$;
        """
    )
    return Clock(database)


@pytest.fixture
async def noon(clock: Clock) -> Clock:
    """The clock, when an hour has just begun and a day is far from over: all of a test happens in the same ones."""
    await clock.advance_to_noon()
    return clock


@dataclass(frozen=True, slots=True)
class OwnServer:
    """An embedded server that one test may restart and kill."""

    home: Path
    server: EmbeddedServer

    @property
    def settings(self) -> Settings:
        return Settings(database_url=None, home=self.home)

    def kill(self) -> None:
        """SIGKILL for the postmaster; comes back when it is dead, its backends may still linger."""
        assert self.server.pid is not None
        os.kill(self.server.pid, signal.SIGKILL)
        while self.server.pid is not None:
            time.sleep(0.01)


@pytest.fixture
def own_server() -> Iterator[OwnServer]:
    """A private embedded server, joined by the test itself."""
    home = Path(tempfile.mkdtemp(prefix="holdfast-own-"))
    server = EmbeddedServer(home, durable=False)
    server.join()
    yield OwnServer(home, server)
    server.leave()
    Cluster(home / "postgres").stop("immediate")
    shutil.rmtree(home, ignore_errors=True)


def _template_name(run_home: Path) -> str:
    return f"holdfast_template_{run_home.name.rpartition('-')[2]}"


async def _execute(dsn: str, sql: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


async def _drop(dsn: str, name: str) -> None:
    await _execute(dsn, f'drop database if exists "{name}" with (force)')
