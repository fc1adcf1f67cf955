"""Projects on stand-ins of Supabase: as the service makes them, and with Holdfast's schema in them."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from holdfast.access.supabase import open_to_supabase
from holdfast.db.connection import connect
from holdfast.schema import migrate_database
from holdfast.settings import Settings
from tests.conftest import RUN_HOME
from tests.endpoint import with_database
from tests.once import once
from tests.supabase.project import Supabase, supabase

MIGRATED, OPENED = "migrated", "opened"


@pytest.fixture(scope="session")
def newer_supabase(request: pytest.FixtureRequest) -> Iterator[Supabase]:
    """A server as it is made today."""
    with supabase(request.config.stash[RUN_HOME] / "supabase", newer=True) as server:
        yield server


@pytest.fixture(scope="session")
def older_supabase(request: pytest.FixtureRequest) -> Iterator[Supabase]:
    """A server on which "postgres" has no right to grant the roles of the API."""
    with supabase(request.config.stash[RUN_HOME] / "older_supabase", newer=False) as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def templates(newer_supabase: Supabase, request: pytest.FixtureRequest) -> None:
    """Two projects to copy, made once per run: one migrated, one also opened to front ends."""
    with once(request.config.stash[RUN_HOME] / "supabase" / "templates") as first:
        if first:
            await newer_supabase.create(MIGRATED)
            await migrate_database(Settings(database_url=with_database(newer_supabase.dsn, MIGRATED)))
            await newer_supabase.create(OPENED, MIGRATED)
            async with connect(Settings(database_url=with_database(newer_supabase.dsn, OPENED))) as database:
                await open_to_supabase(database)


@pytest.fixture
async def migrated(newer_supabase: Supabase, templates: None) -> AsyncIterator[str]:
    """The DSN of a migrated project of the test's own."""
    async with newer_supabase.project(MIGRATED) as dsn:
        yield dsn


@pytest.fixture
async def opened(newer_supabase: Supabase, templates: None) -> AsyncIterator[str]:
    """The DSN of a project of the test's own that front ends read."""
    async with newer_supabase.project(OPENED) as dsn:
        yield dsn
