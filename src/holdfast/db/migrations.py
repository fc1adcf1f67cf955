"""Brings a database to the schema this code expects: forward only, once, however many processes try."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from holdfast.db.connection import Connection, Database
from holdfast.db.pauses import Pauses
from holdfast.db.pgvector import create_pgvector, may_gain_vectors
from holdfast.db.preflight import preflight, refuse_blind, roles_unfit
from holdfast.db.roles import ensure_roles
from holdfast.db.schema_files import MIGRATIONS, Functions, Migration, read_functions, read_migrations
from holdfast.db.sessions import Session, blocking_sessions
from holdfast.db.time_limits import lift_time_limits
from holdfast.errors import DatabaseUnavailable, DatabaseUnusable, HoldfastError

LOCK = 0x686F6C6466617374  # "holdfast" in ASCII
WAIT_SECONDS = 600.0
PAUSE_SECONDS = 0.1
# Longer than the second after which the server ends an automatic vacuum that is in the way.
LOCK_TIMEOUT = "1500ms"
WATCH_SECONDS = 0.3
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 15.0
FILE_SECONDS = 6 * 3600.0  # building an index over millions of rows may take long

SCHEMA_OWNER = "select nspowner::regrole::text from pg_namespace where nspname = 'holdfast'"

BOOKKEEPING = """
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
revoke all on holdfast.migration, holdfast.schema_state from public;
grant select on holdfast.migration, holdfast.schema_state to holdfast_worker, holdfast_api, holdfast_readonly;
"""

# Looked up in the catalogue itself: to_regclass may answer from a memory that has not heard yet of the commit which let
# go of the lock that we have now.
BEGUN = """
select exists (
    select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'holdfast' and c.relname = 'migration'
)
"""

FUNCTIONS_NAMED = """
select oid::regprocedure::text as signature from pg_proc
where pronamespace = 'holdfast'::regnamespace and proname = any ($1)
"""


_log = logging.getLogger("holdfast")


@dataclass(frozen=True, slots=True)
class Applied:
    """What a run changed: a numbered migration, or all roles or functions, which have no number."""

    number: int | None
    name: str


ROLES = Applied(None, "roles")
FUNCTIONS = Applied(None, "functions")


async def migrate(
    database: Database,
    *,
    functions: Path | None = None,
    directory: Path = MIGRATIONS,
    wait_seconds: float = WAIT_SECONDS,
    on_wait: Callable[[str], None] | None = None,
) -> list[Applied]:
    """Apply what is missing, in one transaction, and say what that was. Idempotent.

    Of processes that run it at once one applies and the others wait, then find nothing to do. To change a table takes
    a lock, and a session that waits for it stops all behind it: so each try waits a moment only, `on_wait` hears for
    whom, and after `wait_seconds` it ends with DatabaseUnavailable.
    """
    plan = _Plan(read_migrations(directory), read_functions(functions))
    async with database.transaction() as connection:
        if not await _missing(connection, plan) and not await _gains_vectors(connection, plan):
            return []
    began_at = time.monotonic()
    pauses = Pauses(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
    while True:
        attempt = _Try(database, plan)
        if await attempt.succeeds():
            return attempt.applied
        waited = time.monotonic() - began_at
        if waited >= wait_seconds:
            raise DatabaseUnavailable(
                f"the schema is as it was: after {waited:.0f} s still waiting for {attempt.obstacle}"
            )
        if attempt.was_blocked:
            (on_wait or _log_wait)(f"the migration waits for {attempt.obstacle}")
        await asyncio.sleep(pauses.next() if attempt.was_blocked else PAUSE_SECONDS)


async def pending(database: Database, *, functions: Path | None = None, directory: Path = MIGRATIONS) -> list[Applied]:
    """What `migrate` would apply. Refuses a database newer than the code, or built by other files."""
    plan = _Plan(read_migrations(directory), read_functions(functions))
    async with database.transaction() as connection:
        return await _missing(connection, plan)


@dataclass(frozen=True, slots=True)
class _Plan:
    migrations: tuple[Migration, ...]
    functions: Functions


class _Try:
    """One transaction that either applies everything or finds who is in its way."""

    def __init__(self, database: Database, plan: _Plan) -> None:
        self._database = database
        self._plan = plan
        self._blocking: list[Session] = []
        self.applied: list[Applied] = []
        self.was_blocked = False

    @property
    def obstacle(self) -> str:
        if not self.was_blocked:
            return "another process that migrates: let it finish, or end it"
        if not self._blocking:
            return "another session, which holds a lock on a table: let it finish, or end it"
        session = self._blocking[0]
        others = f" and {len(self._blocking) - 1} more" if len(self._blocking) > 1 else ""
        return f"{session}{others}: let it finish, or end it with: {session.remedy}"

    async def succeeds(self) -> bool:
        """Whether all is applied. Where it is not, nothing is, and no lock is left."""
        try:
            async with self._database.transaction() as connection:
                if not await connection.fetchval("select pg_try_advisory_xact_lock($1)", LOCK):
                    return False
                await lift_time_limits(connection)
                await connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'")
                async with self._watched(await connection.fetchval("select pg_backend_pid()")):
                    self.applied = await _apply(connection, self._plan)
                return True
        except DatabaseUnavailable as error:
            if not isinstance(error.__cause__, asyncpg.LockNotAvailableError):
                raise
            self.was_blocked = True
            return False

    @asynccontextmanager
    async def _watched(self, pid: int) -> AsyncIterator[None]:
        """Only while it waits can anyone say for whom."""
        watching = asyncio.create_task(self._watch(pid))
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.wait({watching})

    async def _watch(self, pid: int) -> None:
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            with suppress(HoldfastError):
                self._blocking = await blocking_sessions(self._database, pid) or self._blocking


def _log_wait(message: str) -> None:
    _log.warning("migration.waiting", extra={"error": message})


async def _missing(connection: Connection, plan: _Plan) -> list[Applied]:
    await refuse_blind(connection)
    done: list[asyncpg.Record] = []
    stored: str | None = None
    unfit = False
    if await connection.fetchval(BEGUN):
        unfit = await roles_unfit(connection)
        done = await connection.fetch("select number, name, checksum from holdfast.migration order by number")
        stored = await connection.fetchval("select checksum from holdfast.schema_state where key = 'functions'")
    numbers = _verified(done, plan.migrations)
    missing = [ROLES] if unfit else []
    missing += [Applied(m.number, m.name) for m in plan.migrations if m.number not in numbers]
    if plan.functions.sources and stored != plan.functions.checksum:
        missing.append(FUNCTIONS)
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
        if not migration.is_recorded_as(row["checksum"]):
            raise DatabaseUnusable(
                f"migration {label} was changed after it was applied: restore the file and put the change "
                "into a new migration"
            )
    return {row["number"] for row in done}


async def _gains_vectors(connection: Connection, plan: _Plan) -> bool:
    """Whether pgvector may be created, by whoever may migrate, in a database that has done without so far."""
    if not plan.functions.sources or not await may_gain_vectors(connection):
        return False
    return not (await preflight(connection)).lacks


async def _apply(connection: Connection, plan: _Plan) -> list[Applied]:
    missing = await _missing(connection, plan)
    if not missing and not await _gains_vectors(connection, plan):
        return []
    (await preflight(connection)).refuse()
    await _make_home(connection)
    for migration in plan.migrations:
        if Applied(migration.number, migration.name) in missing:
            await _apply_migration(connection, migration)
    if plan.functions.sources and await create_pgvector(connection) and FUNCTIONS not in missing:
        missing.append(FUNCTIONS)
    if FUNCTIONS in missing:
        await _apply_functions(connection, plan.functions)
    return missing


async def _make_home(connection: Connection) -> None:
    """The roles, the schema that belongs to their owner, and where it is written down what was applied."""
    await ensure_roles(connection)
    # Another database of this server may have changed them meanwhile.
    (await preflight(connection)).refuse()
    owner = await connection.fetchval(SCHEMA_OWNER)
    if owner is None:
        # "if not exists" asks for the right to create one even where it exists.
        await connection.execute("create schema holdfast authorization holdfast_owner")
    elif owner != "holdfast_owner":
        await connection.execute("alter schema holdfast owner to holdfast_owner")
    await connection.execute("set local role holdfast_owner")
    await connection.execute(BOOKKEEPING)
    await connection.execute("reset role")


async def _apply_migration(connection: Connection, migration: Migration) -> None:
    await connection.execute(migration.sql, timeout=FILE_SECONDS)
    await connection.execute("reset role")
    await connection.execute(
        "insert into holdfast.migration (number, name, checksum) values ($1, $2, $3)",
        migration.number,
        migration.name,
        migration.checksum,
    )


async def _apply_functions(connection: Connection, functions: Functions) -> None:
    # They call each other in any order, so bodies are checked when they run.
    await connection.execute("set local check_function_bodies = off")
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
