"""A stand-in for a project of Supabase: its roles, rights, defaults and triggers on a throw-away server of our own."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from holdfast.db.embedded import EmbeddedServer
from tests.endpoint import with_database, with_user
from tests.once import once

SCRIPT = Path(__file__).with_name("project.sql")
TEMPLATE = "project"
ADMIN = "supabase_admin"

# The server was made by "postgres", whom PostgreSQL never lets be demoted: it becomes the service's own superuser.
RENAME = [
    "create role stepping_stone superuser login",
    f"alter role postgres rename to {ADMIN}",
    "drop role stepping_stone",
]
NEWER = "grant anon, authenticated, service_role to postgres with admin option"


@dataclass(frozen=True, slots=True)
class Supabase:
    """A server with any number of projects. Roles are shared by all of them, everything else is a project's own."""

    dsn: str

    def as_admin(self, database: str) -> str:
        """The DSN of the superuser, who is not the customer."""
        return with_user(with_database(self.dsn, database), ADMIN)

    @asynccontextmanager
    async def project(self, template: str = TEMPLATE) -> AsyncIterator[str]:
        """A project of the test's own, until the block ends. Yields the DSN of "postgres"."""
        name = f"project_{uuid.uuid4().hex}"
        await self.create(name, template)
        try:
            yield with_database(self.dsn, name)
        finally:
            await execute(self.as_admin(ADMIN), f"drop database {name} with (force)")

    async def create(self, name: str, template: str = TEMPLATE) -> None:
        admin = self.as_admin(ADMIN)
        await execute(admin, f"create database {name} template {template}", f"grant all on database {name} to postgres")
        await execute(admin, f"alter database {name} set synchronous_commit = off")


@contextmanager
def supabase(home: Path, *, newer: bool) -> Iterator[Supabase]:
    """A server that all processes with this home share. On a newer one "postgres" may grant the roles of the API."""
    home.mkdir(mode=0o711, exist_ok=True)
    server = EmbeddedServer(home, durable=False)
    server.join()
    try:
        with once(home / "made") as first:
            if first:
                asyncio.run(_make(server.dsn, newer=newer))
        yield Supabase(server.dsn)
    finally:
        server.leave()


async def execute(dsn: str, *statements: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def _make(dsn: str, *, newer: bool) -> None:
    create, rename, drop = RENAME
    await execute(dsn, create)
    await execute(with_user(dsn, "stepping_stone"), rename)
    admin = with_user(dsn, ADMIN)
    await execute(admin, drop, f"create database {ADMIN}", f"create database {TEMPLATE}")
    await execute(with_database(admin, TEMPLATE), SCRIPT.read_text(), *([NEWER] if newer else []))
