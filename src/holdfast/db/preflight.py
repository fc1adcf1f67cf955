"""What migrating needs of the server and the login, asked as a whole before anything is changed."""

from dataclasses import dataclass

import asyncpg

from holdfast.db.connection import Connection
from holdfast.db.pgvector import describe_pgvector
from holdfast.db.roles import ROLES, quoted
from holdfast.errors import DatabaseUnusable

LOGIN = """
select current_user::text as login, current_database()::text as database,
       r.rolsuper or r.rolcreaterole as may_create_role,
       r.rolsuper or r.rolinherit or v.graded as may_inherit, v.graded,
       has_database_privilege(current_database(), 'create') as may_create_schema,
       n.nspowner::regrole::text as schema_owner,
       n.oid is null or pg_has_role(n.nspowner, 'usage') as may_give_schema,
       n.oid is null or has_schema_privilege(n.oid, 'usage') as sees_schema,
       array(select name from unnest($1::text[]) name where to_regrole(name) is null) as absent
from pg_roles r
cross join (select current_setting('server_version_num')::integer >= 160000 as graded) v
left join pg_namespace n on n.nspname = 'holdfast'
where r.rolname = current_user
"""

# Who must be able to act as whom. From PostgreSQL 16 on a membership has options, and who created a role may grant it
# without being able to act as it.
MEMBERSHIPS = """
select w.member, w.role,
       pg_has_role(m.oid, r.oid, case when v.graded then 'set' else 'member' end)
       and (r.rolname <> 'holdfast_owner' or not v.graded or pg_has_role(m.oid, r.oid, 'usage')) as given,
       u.rolsuper or u.rolcreaterole and not v.graded
       or pg_has_role(u.oid, r.oid, 'member with admin option') as may_grant
from (values ('holdfast_api', 'holdfast_tenant'), ('holdfast_owner', 'holdfast_tenant'),
             (current_user::text, 'holdfast_owner')) as w(member, role)
join pg_roles m on m.rolname = w.member
join pg_roles r on r.rolname = w.role
join pg_roles u on u.rolname = current_user
cross join (select current_setting('server_version_num')::integer >= 160000 as graded) v
"""

# Asked whenever something opens the database: by members of the owner and of holdfast_api, who serve tenants. A worker
# need not wait until they can.
UNFIT = f"""
select exists (select from unnest($1::text[]) name where to_regrole(name) is null)
    or exists (
        select from ({MEMBERSHIPS}) m
        where not m.given and case
            when m.member = 'holdfast_api' then pg_has_role(to_regrole('holdfast_api'), 'member')
            else pg_has_role(to_regrole('holdfast_owner'), 'member')
        end)
"""


@dataclass(frozen=True, slots=True)
class Lack:
    """A right that the login needs and does not have, and the statement by which an administrator grants it."""

    deed: str
    statement: str


@dataclass(frozen=True, slots=True)
class Preflight:
    """What stands in the way of migrating, and what will be less than it could be."""

    login: str
    sees_schema: bool
    lacks: tuple[Lack, ...]
    notes: tuple[str, ...]

    def refuse(self) -> None:
        """Raise DatabaseUnusable with everything that is missing."""
        if not self.lacks:
            return
        deeds = ", ".join(lack.deed for lack in self.lacks)
        statements = "; ".join(lack.statement for lack in self.lacks)
        raise DatabaseUnusable(
            f"role {quoted(self.login)} may not {deeds}: have an administrator run `{statements}`, or what "
            f"`holdfast migrate --print-roles` prints, then migrate again. Without roles organizations cannot be kept "
            "apart, so there is no way to run without them; nothing was changed"
        )


async def preflight(connection: Connection) -> Preflight:
    """Ask everything that migrating needs. Changes nothing."""
    row = await connection.fetchrow(LOGIN, ROLES)
    assert row is not None
    members = await connection.fetch(MEMBERSHIPS)
    lacks = (*_lacks_of_login(row), *_lacking_memberships(row, members))
    return Preflight(row["login"], row["sees_schema"], lacks, await describe_pgvector(connection))


async def roles_unfit(connection: Connection) -> bool:
    """Whether a migrated database lacks a role, or a membership without which this login fails later on."""
    return bool(await connection.fetchval(UNFIT, ROLES))


async def refuse_blind(connection: Connection) -> None:
    """Raise DatabaseUnusable when the login may not even see what has been applied so far."""
    row = await connection.fetchrow(LOGIN, ROLES)
    assert row is not None
    if not row["sees_schema"]:
        login = quoted(row["login"])
        statements = ("" if row["may_inherit"] else f"alter role {login} inherit; ") + _grant("ROLE", row)
        raise DatabaseUnusable(
            f"role {login} may not see the schema holdfast: have an administrator run `{statements}`, "
            "with holdfast_readonly to look, holdfast_worker to work, holdfast_api to serve and control, or "
            "holdfast_owner to migrate and for all of it"
        )


def _lacks_of_login(row: asyncpg.Record) -> list[Lack]:
    login, lacks = quoted(row["login"]), []
    if row["schema_owner"] is None and not row["may_create_schema"]:
        lacks.append(Lack("create a schema", f"grant create on database {quoted(row['database'])} to {login}"))
    foreign = row["schema_owner"] not in (None, "holdfast_owner")
    if foreign and not (row["may_give_schema"] and row["may_create_schema"]):
        lacks.append(Lack("take over the schema holdfast", "alter schema holdfast owner to holdfast_owner"))
    if row["absent"] and not row["may_create_role"]:
        lacks.append(Lack(f"create {', '.join(row['absent'])}", f"alter role {login} createrole"))
    if not row["may_inherit"]:
        lacks.append(Lack("use the rights of roles that it is a member of", f"alter role {login} inherit"))
    return lacks


def _lacking_memberships(row: asyncpg.Record, members: list[asyncpg.Record]) -> list[Lack]:
    lacks = []
    for wanted in members:
        if wanted["given"] or wanted["may_grant"]:
            continue
        own = wanted["member"] == row["login"]
        deed = f"act as {wanted['role']}" if own else f"grant {wanted['role']} to {wanted['member']}"
        lacks.append(Lack(deed, _grant(wanted["role"], row, member=None if own else wanted["member"])))
    return lacks


def _grant(role: str, row: asyncpg.Record, *, member: str | None = None) -> str:
    """The statement that makes the login, or that member, use this role, also where it is a member without its rights.

    Where memberships have options, granting one again without them changes none.
    """
    options = " with inherit true, set true" if row["graded"] else ""
    return f"grant {role} to {member or quoted(row['login'])}{options}"
