"""Brings a database to the schema this code expects: forward only, once, however many processes try."""

import asyncio
import re
import time
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from holdfast.db.connection import Connection, Database
from holdfast.db.rights import check_rights, check_visible
from holdfast.db.schema_files import MIGRATIONS, Functions, Migration, read_functions, read_migrations
from holdfast.errors import DatabaseUnavailable, DatabaseUnusable

LOCK = 0x686F6C6466617374  # "holdfast" in ASCII
WAIT_SECONDS = 600.0
PAUSE_SECONDS = 0.1
FILE_SECONDS = 6 * 3600.0  # building an index over millions of rows may take long

BOOKKEEPING = """
create schema if not exists holdfast;
create table if not exists holdfast.migration (
    number integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default clock_timestamp()
);
create table if not exists holdfast.schema_state (
    key text primary key,
    checksum text not null
);
grant select on holdfast.migration, holdfast.schema_state to public;
"""

# Looked up in the catalogue itself: to_regclass may answer from a memory that has not heard yet of the commit which let
# go of the lock that we have now.
BEGUN = """
select exists (
    select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'holdfast' and c.relname = 'migration'
)
"""

# Whoever may act as the owner may then run the next migration, not only who ran the first.
GIVE_TO_OWNER = """
alter table holdfast.migration owner to holdfast_owner;
alter table holdfast.schema_state owner to holdfast_owner;
"""

FUNCTIONS_NAMED = """
select oid::regprocedure::text as signature from pg_proc
where pronamespace = 'holdfast'::regnamespace and proname = any ($1)
"""


@dataclass(frozen=True, slots=True)
class Applied:
    """What a run changed: a numbered migration, or all functions, which have no number."""

    number: int | None
    name: str


async def migrate(database: Database, *, functions: Path | None = None, directory: Path = MIGRATIONS) -> list[Applied]:
    """Apply what is missing, in one transaction, and say what that was. Idempotent.

    Of processes that run it at once one applies and the others wait, then find nothing to do.
    """
    if not await pending(database, functions=functions, directory=directory):
        return []
    plan = _Plan(read_migrations(directory), read_functions(functions))
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        # Each try is a transaction of its own: waiting inside one would stand in the way of those at work.
        async with database.transaction() as connection:
            if await connection.fetchval("select pg_try_advisory_xact_lock($1)", LOCK):
                return await _apply(connection, plan)
        await asyncio.sleep(PAUSE_SECONDS)
    raise DatabaseUnavailable(f"another process has been migrating for {WAIT_SECONDS:.0f} s: wait for it or end it")


async def pending(database: Database, *, functions: Path | None = None, directory: Path = MIGRATIONS) -> list[Applied]:
    """What `migrate` would apply. Refuses a database newer than the code, or built by other files."""
    plan = _Plan(read_migrations(directory), read_functions(functions))
    async with database.transaction() as connection:
        return await _missing(connection, plan)


@dataclass(frozen=True, slots=True)
class _Plan:
    migrations: tuple[Migration, ...]
    functions: Functions


async def _missing(connection: Connection, plan: _Plan) -> list[Applied]:
    await check_visible(connection)
    done: list[asyncpg.Record] = []
    stored: str | None = None
    if await connection.fetchval(BEGUN):
        done = await connection.fetch("select number, name, checksum from holdfast.migration order by number")
        stored = await connection.fetchval("select checksum from holdfast.schema_state where key = 'functions'")
    numbers = _verified(done, plan.migrations)
    missing = [Applied(m.number, m.name) for m in plan.migrations if m.number not in numbers]
    if plan.functions.sources and stored != plan.functions.checksum:
        missing.append(Applied(None, "functions"))
    return missing


def _verified(done: list[asyncpg.Record], migrations: tuple[Migration, ...]) -> set[int]:
    """The numbers applied so far, once it is certain that they are the beginning of ours."""
    known = {migration.number: migration for migration in migrations}
    for row in done:
        label = f"{row['number']:04}_{row['name']}"
        migration = known.get(row["number"])
        if migration is None:
            raise DatabaseUnusable(
                f"the database has migration {label}, which this version of Holdfast does not know: "
                "it was migrated by a newer one, install that"
            )
        if migration.checksum != row["checksum"]:
            raise DatabaseUnusable(
                f"migration {label} was changed after it was applied: restore the file and put the change "
                "into a new migration"
            )
    return {row["number"] for row in done}


async def _apply(connection: Connection, plan: _Plan) -> list[Applied]:
    missing = await _missing(connection, plan)
    if not missing:
        return []
    await check_rights(connection)
    await connection.execute(BOOKKEEPING)
    numbers = {applied.number for applied in missing}
    for migration in plan.migrations:
        if migration.number in numbers:
            await _apply_migration(connection, migration)
    owned = await connection.fetchval("select to_regrole('holdfast_owner') is not null")
    if None in numbers:
        await _apply_functions(connection, plan.functions, owned=owned)
    if owned:
        await connection.execute(GIVE_TO_OWNER)
    return missing


async def _apply_migration(connection: Connection, migration: Migration) -> None:
    await connection.execute(migration.sql, timeout=FILE_SECONDS)
    await connection.execute("reset role")
    await connection.execute(
        "insert into holdfast.migration (number, name, checksum) values ($1, $2, $3)",
        migration.number,
        migration.name,
        migration.checksum,
    )


async def _apply_functions(connection: Connection, functions: Functions, *, owned: bool) -> None:
    # They call each other in any order, so bodies are checked when they run.
    await connection.execute("set local check_function_bodies = off")
    if owned:
        await connection.execute("set local role holdfast_owner")
    while not await _replace_functions(connection, functions):
        pass
    await connection.execute("reset role")
    await connection.execute(
        "insert into holdfast.schema_state (key, checksum) values ('functions', $1) "
        "on conflict (key) do update set checksum = excluded.checksum",
        functions.checksum,
    )


async def _replace_functions(connection: Connection, functions: Functions) -> bool:
    """Create or replace them all. False: some answer otherwise now and had to be dropped, so begin again."""
    for source in functions.sources:
        try:
            async with connection.transaction():
                await connection.execute(source, timeout=FILE_SECONDS)
        except asyncpg.InvalidFunctionDefinitionError:
            rows = await connection.fetch(FUNCTIONS_NAMED, re.findall(r"function holdfast\.(\w+)\(", source))
            if not rows:
                raise
            for row in rows:
                await connection.execute(f"drop function {row['signature']}")
            return False
    return True
