"""Where pgvector is, and what can be done about it where it is not."""

import asyncpg

from holdfast.db.connection import Connection
from holdfast.db.roles import quoted

# Its own schema: whoever empties "public" would take the vectors along.
HOME = "extensions"

STATE = """
select current_user::text as login, a.default_version as available, e.extversion as version, n.nspname::text as schema,
       string_to_array(regexp_replace(e.extversion, '[^0-9.].*', ''), '.')::integer[] < '{0,8}' as too_old,
       has_schema_privilege(n.oid, 'usage') as usable,
       exists (
           select from pg_class where relnamespace = to_regnamespace('holdfast') and relname = 'embedding'
       ) as in_use,
       exists (
           select from pg_proc where pronamespace = to_regnamespace('holdfast') and proname = 'to_vector'
       ) as is_wrapped
from (select) one
left join pg_available_extensions a on a.name = 'vector'
left join pg_extension e on e.extname = 'vector'
left join pg_namespace n on n.oid = e.extnamespace
"""


async def describe_pgvector(connection: Connection) -> tuple[str, ...]:
    """What keeps searches from being answered by meaning, and what helps; nothing where they can be."""
    row = await connection.fetchrow(STATE)
    assert row is not None
    remedy = _remedy(row)
    return (
        (f"searches are answered by words alone: {remedy}. Until then new documents stop in embed",) if remedy else ()
    )


async def may_gain_vectors(connection: Connection) -> bool:
    """Whether a database that has no vectors might have them: pgvector is on the server, or came into it meanwhile."""
    row = await connection.fetchrow(STATE)
    assert row is not None
    if row["version"] is None:
        return row["available"] is not None
    return not row["too_old"] and row["usable"] and not row["in_use"]


async def create_pgvector(connection: Connection) -> bool:
    """Create the extension where the server lets this login; say whether vectors can be had now that were not before.

    However a provider refuses, that is no error.
    """
    row = await connection.fetchrow(STATE)
    if row is not None and row["available"] is not None and row["version"] is None:
        try:
            async with connection.transaction():
                # "if not exists" asks for the right to create one even where it exists.
                if not await connection.fetchval("select to_regnamespace($1) is not null", HOME):
                    await connection.execute(f"create schema {HOME}")
                await connection.execute(f"create extension vector schema {HOME}")
        except asyncpg.PostgresError:
            return False
    return await may_gain_vectors(connection)


def _remedy(row: asyncpg.Record) -> str | None:
    if row["version"] is None and row["available"] is None:
        return "this server has no pgvector; install its package, then run `holdfast migrate`"
    if row["version"] is None:
        return (
            "pgvector is not created in this database; run `holdfast migrate` and, where the server does not let it, "
            f"have an administrator run `create schema if not exists {HOME}; create extension vector schema {HOME}` "
            "before"
        )
    if row["too_old"]:
        return f"pgvector is {row['version']}; install 0.8 or newer and run `alter extension vector update`"
    if not row["usable"] and not row["is_wrapped"]:
        schema, login = quoted(row["schema"]), quoted(row["login"])
        return (
            f"role {login} may not use pgvector in schema {row['schema']}; have an administrator run `grant usage on "
            f"schema {schema} to {login}`, then run `holdfast migrate`"
        )
    return None
