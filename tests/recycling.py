"""Databases that one test after the other uses: emptied in milliseconds, where making a new one takes a second."""

from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from psycopg.sql import SQL, Composed, Identifier, Literal

from tests.endpoint import with_database

# Whatever a test changes besides rows shows here; clock() is put back, and what is in schema public is dropped.
FINGERPRINT: LiteralString = """
select md5(string_agg(piece, ',' order by piece)) from (
    select concat('function ', oid, xmin, proacl) from pg_proc
    where pronamespace = 'holdfast'::regnamespace and proname <> 'clock'
    union all
    select concat('constraint ', oid, xmin) from pg_constraint where connamespace = 'holdfast'::regnamespace
    union all
    select concat('trigger ', t.oid, t.xmin) from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'holdfast'::regnamespace
    union all
    select concat('relation ', relname, relkind, relacl, reloptions, relowner) from pg_class
    where relnamespace = 'holdfast'::regnamespace
    union all
    select concat('column ', attrelid, attname, a.xmin) from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'holdfast'::regnamespace and attnum > 0
    union all
    select concat('schema ', nspname, nspacl, nspowner) from pg_namespace where nspname in ('holdfast', 'public')
    union all
    select concat('setting ', setrole, setconfig) from pg_db_role_setting
    where setdatabase = (select oid from pg_database where datname = current_database())
    union all
    select concat('database ', datconnlimit, datallowconn) from pg_database where datname = current_database()
) as fingerprint(piece)
"""

ALONE: LiteralString = """
select pg_terminate_backend(pid, 5000) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
"""

NEW_PUBLIC: LiteralString = """
drop schema public cascade;
create schema public;
grant usage on schema public to public;
"""

TABLES: LiteralString = """
select relname from pg_class
where relnamespace = 'holdfast'::regnamespace and relkind = 'r' and relname not in ('migration', 'schema_state')
"""

# What was analysed while it was empty, also by the server itself, would look empty to the planner however full it gets.
ANALYSED: LiteralString = f"{TABLES} and reltuples >= 0"

# They outlive the rows that they are about.
FORGET_STATISTICS: LiteralString = """
delete from pg_statistic
where starelid in (select oid from pg_class where relnamespace = 'holdfast'::regnamespace)
"""

BACK_TO_THE_START: LiteralString = """
do $$
begin
    perform setval(seqrelid, seqmin, false)
    from pg_sequence
    where
        seqrelid in (select oid from pg_class where relnamespace = 'holdfast'::regnamespace)
        and pg_sequence_last_value(seqrelid) is not null;
    if (select prosrc from pg_proc where oid = 'holdfast.clock'::regproc) <> ' select clock_timestamp() ' then
        create or replace function holdfast.clock() returns timestamptz
        language sql volatile as ' select clock_timestamp() ';
    end if;
end $$;
"""

# Counters of this session that it told the server later would be added to those of the next test.
FIRST_ROWS: LiteralString = """
insert into holdfast.maintenance default values on conflict do nothing;
select pg_stat_force_next_flush();
"""

IS_PUBLIC_USED: LiteralString = """
select exists (select from pg_depend where refclassid = 'pg_namespace'::regclass and refobjid = 'public'::regnamespace)
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """A database, and a connection to it that knows its way around: finding out anew takes five times as long."""

    connection: psycopg.Connection
    fingerprint: str
    tables_with_rows: Composed

    @classmethod
    def new(cls, dsn: str) -> "Kept":
        connection = psycopg.connect(dsn, autocommit=True, application_name="recycling")
        connection.execute("set session_replication_role = replica")
        connection.execute("set client_min_messages = error")
        connection.execute("set lock_timeout = '5s'")
        connection.execute(NEW_PUBLIC)
        asked = [
            SQL("select {} where exists (select from holdfast.{})").format(Literal(name), Identifier(name))
            for (name,) in connection.execute(TABLES)
        ]
        return cls(connection, _value(connection, FINGERPRINT), SQL(" union all ").join(asked))

    def empty(self) -> bool:
        """False when more than rows was changed."""
        self.connection.execute(ALONE)
        if _value(self.connection, FINGERPRINT) != self.fingerprint:
            return False
        if _value(self.connection, IS_PUBLIC_USED):
            self.connection.execute(NEW_PUBLIC)
        self._empty_what_was_analysed()
        for (name,) in self.connection.execute(self.tables_with_rows).fetchall():
            self.connection.execute(SQL("delete from holdfast.{}").format(Identifier(name)))
        self.connection.execute(BACK_TO_THE_START)
        self.connection.execute(FIRST_ROWS)
        return True

    def renew(self) -> None:
        """Make the empty database new to the planner again: meanwhile the server may have looked after it."""
        if self._empty_what_was_analysed():
            self.connection.execute(FIRST_ROWS)

    def _empty_what_was_analysed(self) -> bool:
        """Say whether there was such a table."""
        analysed = [SQL("holdfast.{}").format(Identifier(name)) for (name,) in self.connection.execute(ANALYSED)]
        if analysed:
            # Takes a file for each of its indexes and of all tables that refer to it.
            self.connection.execute(SQL("truncate {} cascade").format(SQL(", ").join(analysed)))
            self.connection.execute(FORGET_STATISTICS)
        return bool(analysed)


class Recycling:
    """The databases of one server that a test process keeps for its next tests."""

    def __init__(self) -> None:
        self._clean: list[str] = []
        self._kept: dict[str, Kept] = {}

    def take(self) -> str | None:
        """A database as good as new, if there is one."""
        if not self._clean:
            return None
        name = self._clean.pop()
        self._kept[name].renew()
        return name

    def register(self, server_dsn: str, name: str) -> None:
        """Note what a new database looks like."""
        self._kept[name] = Kept.new(with_database(server_dsn, name))

    def give_back(self, name: str) -> bool:
        """Empty it for the next test; False when this one changed more than rows, and it has to go."""
        kept = self._kept[name]
        try:
            is_empty = kept.empty()
        except psycopg.Error:
            is_empty = False
        if is_empty:
            self._clean.append(name)
        else:
            self._kept.pop(name).connection.close()
        return is_empty

    def all_clean(self) -> list[str]:
        """Hand over what is left, to be dropped."""
        for kept in self._kept.values():
            kept.connection.close()
        left, self._clean = self._clean, []
        return left


def _value(connection: psycopg.Connection, sql: LiteralString) -> Any:
    row = connection.execute(sql).fetchone()
    assert row is not None
    return row[0]
