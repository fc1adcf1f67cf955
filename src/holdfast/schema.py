"""Brings databases up to date with the migrations and the functions of every room."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import holdfast
from holdfast.access.supabase import FrontEnd, check_project, open_to_supabase
from holdfast.db.connection import Database, connect_directly
from holdfast.db.migrations import Applied, migrate, pending
from holdfast.db.preflight import Lack, preflight
from holdfast.errors import DatabaseUnusable
from holdfast.settings import Settings

FUNCTIONS = Path(holdfast.__file__).parent


@dataclass(frozen=True, slots=True)
class Migrated:
    """What was applied; `notes` say what is less than it could be."""

    applied: list[Applied]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """What is yet to apply, and the rights that this login lacks for it. Nothing is known of what it may not see."""

    missing: list[Applied]
    lacks: tuple[Lack, ...]
    notes: tuple[str, ...]


async def migrate_database(settings: Settings, *, on_wait: Callable[[str], None] | None = None) -> Migrated:
    """Bring the configured database up to date and say what that took; `on_wait` hears who is in the way."""
    async with connect_directly(settings) as database:
        wait = settings.migrate_wait_seconds
        applied = await migrate(database, functions=FUNCTIONS, wait_seconds=wait, on_wait=on_wait)
        async with database.transaction() as connection:
            return Migrated(applied, (await preflight(connection)).notes)


async def migrate_for_supabase(
    settings: Settings, claims: tuple[str, ...], *, on_wait: Callable[[str], None] | None = None
) -> tuple[Migrated, FrontEnd]:
    """Bring the configured database up to date, then open it to the front ends of its project."""
    async with connect_directly(settings) as database:
        await check_project(database, claims)
    migrated = await migrate_database(settings, on_wait=on_wait)
    async with connect_directly(settings) as database:
        return migrated, await open_to_supabase(database, claims)


async def check_database(settings: Settings) -> Checked:
    """What `migrate_database` would apply, and what keeps it from doing so."""
    async with connect_directly(settings) as database:
        async with database.transaction() as connection:
            found = await preflight(connection)
        missing = await pending(database, functions=FUNCTIONS) if found.sees_schema else []
        # Who has all that is applied needs no right to apply it.
        return Checked(missing, found.lacks if missing or not found.sees_schema else (), found.notes)


async def make_ready(database: Database, settings: Settings) -> None:
    """Migrate the embedded database; refuse another one that is not migrated (DatabaseUnusable)."""
    if settings.database_url is None:
        await migrate(database, functions=FUNCTIONS, wait_seconds=settings.migrate_wait_seconds)
        return
    missing = await pending(database, functions=FUNCTIONS)
    if missing:
        names = ", ".join(applied.name for applied in missing)
        raise DatabaseUnusable(f"the database is not migrated (missing: {names}): run `holdfast migrate`")
