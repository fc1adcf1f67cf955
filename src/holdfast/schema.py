"""Brings databases up to date with the migrations and the functions of every room."""

from pathlib import Path

import holdfast
from holdfast.db.connection import Database, connect
from holdfast.db.migrations import Applied, migrate, pending
from holdfast.errors import DatabaseUnusable
from holdfast.settings import Settings

FUNCTIONS = Path(holdfast.__file__).parent


async def migrate_database(settings: Settings) -> list[Applied]:
    """Bring the configured database up to date and say what that took."""
    async with connect(settings) as database:
        return await migrate(database, functions=FUNCTIONS)


async def pending_migrations(settings: Settings) -> list[Applied]:
    """What `migrate_database` would apply."""
    async with connect(settings) as database:
        return await pending(database, functions=FUNCTIONS)


async def make_ready(database: Database, settings: Settings) -> None:
    """Migrate the embedded database; refuse another one that is not migrated (DatabaseUnusable)."""
    if settings.database_url is None:
        await migrate(database, functions=FUNCTIONS)
        return
    missing = await pending(database, functions=FUNCTIONS)
    if missing:
        names = ", ".join(applied.name for applied in missing)
        raise DatabaseUnusable(f"the database is not migrated (missing: {names}): run `holdfast migrate`")
