"""One row in every table of the schema, whatever its columns: what a later table holds is planted too."""

import asyncpg

# On a database of the test's own: what rows must look like is no question here, who sees them is.
UNBIND = """
do $$
declare
    v_constraint record;
begin
    for v_constraint in
        select conrelid::regclass as relation, conname from pg_constraint
        where connamespace = 'holdfast'::regnamespace and contype in ('c', 'f', 'u') and conrelid <> 0
        order by contype = 'u'
    loop
        execute format('alter table %s drop constraint %I', v_constraint.relation, v_constraint.conname);
    end loop;
    for v_constraint in
        select indexrelid::regclass as relation from pg_index
        where indisunique and not indisprimary
              and indrelid in (select oid from pg_class where relnamespace = 'holdfast'::regnamespace)
    loop
        execute format('drop index %s', v_constraint.relation);
    end loop;
end $$
"""
COLUMNS = """
select c.oid::regclass::text as relation, a.attname as name, format_type(a.atttypid, null) as type
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p')
      and c.relname not in ('migration', 'schema_state', 'claim_path', 'maintenance')
      and (a.attnotnull or not format_type(a.atttypid, null) like 'timestamp%')
order by c.relname, a.attnum
"""


async def plant(admin: asyncpg.Connection, *, org: str, word: str, number: int) -> int:
    """Plant an organization's row in every table; its texts are the word, its numbers the number. Says in how many."""
    tables: dict[str, dict[str, str]] = {}
    for relation, name, kind in await admin.fetch(COLUMNS):
        written = f"'{org}'" if name == "organisation" else _value(kind, word, number)
        tables.setdefault(relation, {})[name] = f"{written}::{kind}"
    await admin.execute("set session_replication_role = replica")
    for relation, row in tables.items():
        columns = ", ".join(f'"{name}"' for name in row)
        await admin.execute(
            f"insert into {relation} ({columns}) overriding system value values ({', '.join(row.values())})"
        )
    await admin.execute("reset session_replication_role")
    return len(tables)


def _value(kind: str, word: str, number: int) -> str:
    if kind.endswith("[]"):
        return f"array[{_value(kind.removesuffix('[]'), word, number)}]"
    match kind:
        case "bigint" | "numeric" | "double precision":
            return str(number)
        case "integer" | "smallint" | "real":
            return str(number % 100)
        case "jsonb" | "json":
            return f"""'{{"{word}": "{word}"}}'"""
        case "boolean":
            return "true"
        case "uuid":
            return f"'00000000-0000-0000-0000-{number:012}'"
        case "bytea":
            return f"sha256('{word}')"
        case "date":
            return "current_date"
        case "regconfig":
            return "'english'"
    if kind.startswith("timestamp"):
        return "now()"
    if kind.endswith("vector") and kind != "tsvector":
        return f"'[{number % 100}, 1]'"
    return f"'{word}'"
