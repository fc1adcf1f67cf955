"""The old table, which is only ever read: what it looks like, and its rows in the order of their keys."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from asyncpg import Record

from holdfast.db.connection import Connection, Database
from holdfast.errors import InvalidInput, NotFound
from holdfast.takeover.old_row import FIELDS, OldRow

OLDEST_SERVER = 10
# What one batch holds, in memory and in a message to the database, which takes none beyond 256 MB.
BATCH_ROWS = 1_000
BATCH_BYTES = 16 << 20
_FIRST_ROWS = 10
# A full count of a large table takes longer than any other question.
COUNT_SECONDS = 3600.0
USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "status": ("status",),
    "state": ("state", "queue_state", "processing_state"),
    "last_error": ("last_error", "error", "error_info"),
    "organisation": (
        *("organisation", "organization", "organisation_id", "organization_id"),
        *("org_id", "org", "tenant_id", "tenant"),
    ),
    "name": ("name", "source_name", "file_name", "filename", "title"),
    "location": ("location", "source_location", "source_url", "url", "file_path", "storage_path", "path", "uri"),
    "content_hash": ("content_hash", "file_hash", "hash", "sha256", "checksum"),
    "metadata": ("metadata", "meta"),
    "retry_count": ("retry_count", "retries"),
    "created_at": ("created_at",),
    "updated_at": ("updated_at",),
    "input": ("input",),
}

_TABLE = """
select c.oid, format('%I.%I', n.nspname, c.relname) as name, current_user as role,
       has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select') as readable,
       current_database() as database, has_function_privilege('pg_control_system()', 'execute') as may_ask_server
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where n.nspname = $1 and c.relname = $2 and c.relkind in ('r', 'p')
"""
_VIEW = """
select c.relkind = 'm' as is_kept, (
           select string_agg(distinct format('%I.%I', b.relnamespace::regnamespace::text, b.relname), ', ')
           from pg_rewrite r
           join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
                           and d.refclassid = 'pg_class'::regclass
           join pg_class b on b.oid = d.refobjid and b.oid <> c.oid
           where r.ev_class = c.oid) as shows
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where n.nspname = $1 and c.relname = $2 and c.relkind in ('v', 'm')
"""
# What a text consists of, in any encoding and whether or not it is text there.
_AS_BYTES = "convert_to({}, 'SQL_ASCII')"
# The same server whichever way one reaches it; who may not ask that is content with where it listens.
_SERVER = "select system_identifier::text from pg_control_system()"
_ADDRESS = "select concat_ws(':', host(inet_server_addr()), inet_server_port())"
_COLUMNS = """
select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, quote_ident(a.attname) as quoted,
       exists (select from pg_index i where i.indrelid = a.attrelid and i.indisprimary and i.indnkeyatts = 1
               and i.indkey[0] = a.attnum) as is_primary,
       a.attnotnull and exists (
           select from pg_index i where i.indrelid = a.attrelid and i.indisunique and i.indisvalid and i.indnkeyatts = 1
           and i.indkey[0] = a.attnum and i.indpred is null and i.indexprs is null) as is_unique
from pg_attribute a
where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped
order by a.attnum
"""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the old table."""

    name: str
    type: str
    quoted: str
    is_primary: bool
    is_unique: bool


@dataclass(frozen=True, slots=True)
class OldTable:
    """A table found, with the column of each field that it has. `source` says which database, and no password."""

    database: Database
    source: str
    name: str
    key: Column
    fields: Mapping[str, Column]

    @property
    def columns(self) -> dict[str, str]:
        """Which column each field was found in."""
        return {"key": self.key.name, **{field: column.name for field, column in self.fields.items()}}

    @property
    def has_state(self) -> bool:
        """Whether a column tells which place in the queue a row has."""
        return "state" in self.fields

    async def read(self, after: str | None) -> list[OldRow]:
        """The next batch of rows after a key, in the order of their keys; none when there are no more.

        A row that holds bytes which are no text comes alone, and says so; InvalidInput when its key does.
        """
        limit = BATCH_ROWS
        while True:
            try:
                return await self._read(after, limit)
            except InvalidInput as error:
                # Halves are tried until the row is found.
                if limit == 1:
                    return [await self._read_bytes(after, reason=_reason(error))]
                limit //= 2

    async def _read(self, after: str | None, limit: int) -> list[OldRow]:
        values = ", ".join(self._values)
        async with self._reading() as connection:
            cursor = await connection.cursor(*self._next(values, after, limit))
            rows, size, wanted = list[Record](), 0, _FIRST_ROWS
            while wanted and (more := await cursor.fetch(wanted)):
                rows += more
                size += sum(len(row[1]) for row in more)
                # As many as fit if the next are like these; not too many more, they may not be.
                wanted = min(max(0, BATCH_BYTES - size) * len(rows) // size, 4 * len(rows))
        return [OldRow(row[0], row[1], dict(zip(self.fields, list(row)[2:], strict=True))) for row in rows]

    async def _read_bytes(self, after: str | None, *, reason: str) -> OldRow:
        key, *others = self._values
        values = ", ".join(_AS_BYTES.format(value) for value in (key, *others))
        async with self._reading() as connection:
            row = await connection.fetchrow(*self._next(values, after, 1))
        assert row is not None
        whole, *texts = (_marked(value) for value in list(row)[1:])
        return OldRow(
            await self._readable_key(after, row[0]), whole or "", dict(zip(self.fields, texts, strict=True)), reason
        )

    async def _readable_key(self, after: str | None, written: bytes) -> str:
        try:
            async with self._reading() as connection:
                return str(await connection.fetchval(*self._next(self._values[0], after, 1)))
        except InvalidInput as error:
            condition = f"{_AS_BYTES.format(f'{self.key.quoted}::text')} = '\\x{written.hex()}'"
            raise InvalidInput(f"the key of a row of {self.name} is no text: change it where {condition}") from error

    @property
    def _values(self) -> list[str]:
        texts = (f"t.{column.quoted}::text" for column in self.fields.values())
        return [f"t.{self.key.quoted}::text", "row_to_json(t)::text", *texts]

    def _next(self, values: str, after: str | None, limit: int) -> tuple[Any, ...]:
        beyond = "" if after is None else f"where t.{self.key.quoted} > $2::text::{self.key.type}"
        sql = f"select {values} from {self.name} t {beyond} order by t.{self.key.quoted} limit $1"
        return (sql, limit) if after is None else (sql, limit, after)

    async def count_by_status(self) -> Counter[str | None]:
        """How many rows have which status now."""
        status = f"t.{self.fields['status'].quoted}::text"
        try:
            return Counter(dict(await self._count_by(status)))
        except InvalidInput:
            counts = Counter[str | None]()
            for written, rows in await self._count_by(_AS_BYTES.format(status)):
                counts[_marked(written)] += rows
            return counts

    async def _count_by(self, value: str) -> list[tuple[Any, int]]:
        sql = f"select {value}, count(*) from {self.name} t group by 1"
        async with self._reading() as connection:
            return [(row[0], row[1]) for row in await connection.fetch(sql, timeout=COUNT_SECONDS)]

    async def has(self, key: str) -> bool:
        """Whether a row has this key, to the letter."""
        sql = (
            f"select t.{self.key.quoted}::text from {self.name} t where t.{self.key.quoted} = $1::text::{self.key.type}"
        )
        try:
            async with self._reading() as connection:
                return bool(await connection.fetchval(sql, key) == key)
        except InvalidInput:  # no key of that type
            return False

    async def missing(self, keys: Sequence[str]) -> list[str]:
        """Those of the keys that no row has any more."""
        sql = (
            f"select k from unnest($1::text[]) k where not exists"
            f" (select from {self.name} t where t.{self.key.quoted} = k::{self.key.type})"
        )
        async with self._reading() as connection:
            return [row[0] for row in await connection.fetch(sql, keys)]

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[Connection]:
        async with self.database.transaction() as connection:
            # The same row must always read the same.
            await connection.execute(
                "set transaction read only; set local timezone to 'UTC'; set local datestyle to 'ISO'"
            )
            yield connection


async def find_table(database: Database, table: str, named: Mapping[str, str]) -> OldTable:
    """The table and its columns: by `named` (field to column; empty: it has none), else by their usual names.

    Raises NotFound or InvalidInput that says what to do when something is missing.
    """
    schema, name = parted(table)
    found = await database.fetchrow(_TABLE, schema, name)
    if found is None:
        raise await _no_table(database, schema, name)
    if not found["readable"]:
        raise InvalidInput(
            f'role "{found["role"]}" may not read {found["name"]}: grant select on it, or log in as another'
        )
    columns = {row["name"]: Column(*row) for row in await database.fetch(_COLUMNS, found["oid"])}
    fields = {field: _column(columns, field, named) for field in FIELDS}
    return OldTable(
        database=database,
        source=f"{found['database']}@{await database.fetchval(_SERVER if found['may_ask_server'] else _ADDRESS)}",
        name=found["name"],
        key=_key(columns, found["name"], named),
        fields=_with_status({field: column for field, column in fields.items() if column}, found["name"]),
    )


def parted(table: str) -> tuple[str, str]:
    """Schema and name of a table as people write it."""
    parts = re.fullmatch(r'(?:(?:"([^"]+)"|([^".]+))\.)?(?:"([^"]+)"|([^".]+))', table)
    if parts is None:
        raise InvalidInput(f'"{table}" is no table: name it as SCHEMA.NAME')
    return parts[1] or parts[2] or "public", parts[3] or parts[4]


def _reason(error: InvalidInput) -> str:
    """Without the bytes, which differ from row to row."""
    return str(error).removeprefix("a value cannot be stored: ").partition(": 0x")[0]


def _marked(written: bytes | None) -> str | None:
    return None if written is None else written.decode(errors="replace")


async def _no_table(database: Database, schema: str, name: str) -> NotFound | InvalidInput:
    view = await database.fetchrow(_VIEW, schema, name)
    if view is None:
        return NotFound(f"there is no table {schema}.{name} in that database: name it with --table SCHEMA.NAME")
    kind = "materialized view" if view["is_kept"] else "view"
    behind = f"; it shows {view['shows']}" if view["shows"] else ""
    return InvalidInput(
        f"{schema}.{name} is a {kind}, and views are not read: name the table behind it with --table{behind}"
    )


def _key(columns: Mapping[str, Column], table: str, named: Mapping[str, str]) -> Column:
    if "key" in named:
        column = columns.get(named["key"])
        if column is None:
            raise NotFound(f'{table} has no column "{named["key"]}": it has {", ".join(columns)}')
        if not (column.is_primary or column.is_unique):
            raise InvalidInput(
                f'column "{column.name}" of {table} does not tell its rows apart: name one that is unique and not null'
            )
        return column
    for column in columns.values():
        if column.is_primary or (column.name == "id" and column.is_unique):
            return column
    raise InvalidInput(
        f"{table} has no primary key of one column: give it one, or name a column that is unique and not null"
        " with --column key=COLUMN"
    )


def _column(columns: Mapping[str, Column], field: str, named: Mapping[str, str]) -> Column | None:
    if field in named:
        if named[field] and named[field] not in columns:
            raise NotFound(f'there is no column "{named[field]}" for {field}: the table has {", ".join(columns)}')
        return columns.get(named[field])
    for name in USUAL_NAMES[field]:
        alike = [columns[name]] if name in columns else [one for one in columns.values() if one.name.lower() == name]
        if len(alike) > 1:
            names = ", ".join(f'"{one.name}"' for one in alike)
            raise InvalidInput(f"columns {names} could all be the {field}: name one with --column {field}=COLUMN")
        if alike:
            return alike[0]
    return None


def _with_status(fields: dict[str, Column], table: str) -> dict[str, Column]:
    if "status" not in fields:
        raise InvalidInput(f"{table} has no column for the status: name it with --column status=COLUMN")
    return fields
