"""What a role needs in order to migrate, asked before anything is changed."""

from holdfast.db.connection import Connection
from holdfast.errors import DatabaseUnusable

RIGHTS = """
select current_user as role,
       current_database() as database,
       to_regnamespace('holdfast') is not null as has_schema,
       to_regrole('holdfast_owner') is not null as has_owner,
       has_database_privilege(current_database(), 'create') as may_create_schema,
       (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) as may_create_role,
       case
           when to_regrole('holdfast_owner') is null then false
           else pg_has_role(current_user, to_regrole('holdfast_owner'), 'member')
       end as may_act_as_owner
"""


VISIBLE = """
select to_regnamespace('holdfast') is null or has_schema_privilege(to_regnamespace('holdfast'), 'usage')
"""


async def check_visible(connection: Connection) -> None:
    """Raise DatabaseUnusable when the role may not even see what has been applied so far."""
    if not await connection.fetchval(VISIBLE):
        role = _quoted(await connection.fetchval("select current_user"))
        raise _refusal(role, "see the schema holdfast", f"grant holdfast_owner to {role}")


async def check_rights(connection: Connection) -> None:
    """Raise DatabaseUnusable with the statement to run when the role lacks a right that migrating needs."""
    rights = await connection.fetchrow(RIGHTS)
    assert rights is not None
    role, database = _quoted(rights["role"]), _quoted(rights["database"])
    if not rights["has_schema"] and not rights["may_create_schema"]:
        raise _refusal(role, "create a schema", f"grant create on database {database} to {role}")
    if not rights["has_owner"] and not rights["may_create_role"]:
        raise _refusal(role, "create Holdfast's roles", f"alter role {role} createrole")
    if rights["has_owner"] and not rights["may_act_as_owner"] and not rights["may_create_role"]:
        raise _refusal(role, "act as holdfast_owner", f"grant holdfast_owner to {role}")


def _refusal(role: str, deed: str, remedy: str) -> DatabaseUnusable:
    return DatabaseUnusable(f"role {role} may not {deed}: as a superuser run `{remedy}`, then migrate again")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
