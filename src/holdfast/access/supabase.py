"""Opens a database to the front ends of a Supabase project: who holds a token sees its organization's documents."""

from dataclasses import dataclass
from pathlib import Path

import asyncpg

from holdfast.db.connection import Connection, Database
from holdfast.db.migrations import LOCK, LOCK_TIMEOUT
from holdfast.errors import DatabaseUnavailable, DatabaseUnusable, InvalidInput

SCRIPT = Path(__file__).with_name("supabase.sql")
API_ROLES = ("anon", "authenticated", "service_role")
# Where Clerk puts it: in its session tokens, and by its template for Supabase.
USUAL_CLAIMS = ("o.id", "org_id")
MAX_CLAIM_DEPTH = 10
WRITTEN_BY_USERS = ("user_metadata", "raw_user_meta_data")

# From PostgreSQL 16 on each membership says for itself whether it is inherited.
UNINHERITING = """
select string_agg(format('alter role %I inherit', rolname), '; ' order by rolname) from pg_roles
where rolname in ('authenticated', 'service_role') and not rolinherit
      and current_setting('server_version_num')::integer < 160000
"""

# What a login that only migrates may lack: roles that others prepared can be granted only by who was given them to pass
# on. Before PostgreSQL 16 any login that may create roles could.
UNGRANTABLE = """
select string_agg(
    case when w.oid is null then format('create role %I nologin; ', p.role) else '' end
    || format('grant %I to %I with admin option', p.role, u.rolname), '; ' order by p.member)
from (values ('authenticated', 'holdfast_claims'), ('service_role', 'holdfast_api')) p(member, role)
join pg_roles u on u.rolname = current_user and not u.rolsuper
left join pg_roles w on w.rolname = p.role
where case
    when w.oid is null then not u.rolcreaterole
    else not pg_has_role(p.member, w.oid, 'usage') and not pg_has_role(u.oid, w.oid, 'member with admin option')
         and not (u.rolcreaterole and current_setting('server_version_num')::integer < 160000)
end
"""

# Asked of the catalogue, so that what is reported is what holds.
GRANTED = """
select 'authenticated' as role, format('select (%s)', string_agg(a.attname, ', ' order by a.attnum)) as rights,
       format('holdfast.%I', c.relname) as object
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'v')
      and has_column_privilege('authenticated', c.oid, a.attnum, 'select')
      and has_any_column_privilege('holdfast_claims', c.oid, 'select')
group by c.relname
union all
select r.role, 'select', 'public.holdfast_documents' from unnest($1::text[]) r(role)
where has_table_privilege(r.role, 'public.holdfast_documents', 'select')
union all
select 'service_role', 'all of holdfast_api', 'schema holdfast'
where pg_has_role('service_role', 'holdfast_api', 'usage')
union all
select 'supabase_realtime', 'publish', format('%I.%I', schemaname, tablename) from pg_publication_tables
where pubname = 'supabase_realtime' and schemaname = 'holdfast'
order by 1, 3
"""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a role of the project may do with what of ours."""

    role: str
    rights: str
    object: str


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """How far a database is open: whom its tokens speak for, and what holds now."""

    claims: tuple[str, ...]
    granted: tuple[Grant, ...]


async def check_project(database: Database, claims: tuple[str, ...]) -> None:
    """Refuse what `open_to_supabase` would refuse, before anything is changed."""
    for claim in claims:
        _path(claim)
    async with database.transaction() as connection:
        await _check_roles(connection)


async def open_to_supabase(database: Database, claims: tuple[str, ...] = ()) -> FrontEnd:
    """Grant what a project's API roles need, in one transaction. Idempotent; without `claims` those set before stay.

    Raises InvalidInput for a claim that is not a path, DatabaseUnusable where this is no project or a right is missing,
    DatabaseUnavailable where someone keeps a lock on a table for longer than others can wait.
    """
    paths = [_path(claim) for claim in claims]
    async with database.transaction() as connection:
        await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
        await _check_roles(connection)
        await _store(connection, paths)
        # A session that waits for the lock on a table stops all behind it.
        await connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'")
        try:
            async with connection.transaction():
                await connection.execute(SCRIPT.read_text(encoding="utf-8"))
        except asyncpg.InsufficientPrivilegeError as error:
            raise DatabaseUnusable(
                f"this login may not open the database to Supabase ({error.args[0]}): use the login that migrated, "
                'which is "postgres" on Supabase, or have an administrator run it once'
            ) from error
        except asyncpg.LockNotAvailableError as error:
            raise DatabaseUnavailable(
                "another session keeps a lock on a table of Holdfast: let it finish, then migrate again; nothing was "
                "changed"
            ) from error
        granted = [Grant(**row) for row in await connection.fetch(GRANTED, list(API_ROLES))]
        rows = await connection.fetch("select path from holdfast.claim_path order by position")
    return FrontEnd(tuple(".".join(row["path"]) for row in rows), tuple(granted))


def _path(claim: str) -> list[str]:
    parts = claim.split(".")
    if parts[0] in WRITTEN_BY_USERS:
        raise InvalidInput(f'users write "{parts[0]}" themselves: name a claim that only the issuer of tokens sets')
    if not all(parts) or len(parts) > MAX_CLAIM_DEPTH:
        raise InvalidInput(f'"{claim}" is not the path of a claim: name it like org_id, or o.id for "id" within "o"')
    return parts


async def _check_roles(connection: Connection) -> None:
    missing = [f'"{name}"' for name in API_ROLES if not await connection.fetchval("select to_regrole($1)", name)]
    if missing:
        raise DatabaseUnusable(
            f"this is not a Supabase project: it has no role {', '.join(missing)}; migrate without --for supabase"
        )
    if remedy := await connection.fetchval(UNGRANTABLE):
        raise DatabaseUnusable(
            f"this login may not grant Holdfast's roles to those of the project: have an administrator run `{remedy}`, "
            "then migrate again; nothing was changed"
        )
    if remedy := await connection.fetchval(UNINHERITING):
        raise DatabaseUnusable(
            f"a role of the project does not use the rights of roles that it is a member of: have an administrator run "
            f"`{remedy}`, then migrate again; nothing was changed"
        )


async def _store(connection: Connection, paths: list[list[str]]) -> None:
    if not paths:
        if await connection.fetchval("select exists (select from holdfast.claim_path)"):
            return
        paths = [_path(claim) for claim in USUAL_CLAIMS]
    await connection.execute("set local role holdfast_owner")
    await connection.execute("delete from holdfast.claim_path where position >= 0")
    await connection.executemany("insert into holdfast.claim_path values ($1, $2)", list(enumerate(paths)))
    await connection.execute("reset role")
