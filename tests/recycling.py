"""Databases that one test after the other uses: emptied in milliseconds, where making a new one takes a second."""

import asyncpg

from tests.endpoint import with_database

# Whatever a test changes besides rows shows here; clock() is put back, and schema public is made anew.
FINGERPRINT = """
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
    select concat('schema ', nspname, nspacl, nspowner) from pg_namespace where nspname = 'holdfast'
    union all
    select concat('setting ', setrole, setconfig) from pg_db_role_setting
    where setdatabase = (select oid from pg_database where datname = current_database())
    union all
    select concat('database ', datconnlimit, datallowconn) from pg_database where datname = current_database()
) as fingerprint(piece)
"""

EMPTY = """
set session_replication_role = replica;
set client_min_messages = error;
set lock_timeout = '5s';
drop schema if exists public cascade;
create schema public;
grant usage on schema public to public;
do $$
declare
    v_name text;
    v_analysed boolean;
    v_is_used boolean;
    v_large text;
begin
    for v_name, v_analysed in
        select relname, reltuples >= 0 from pg_class
        where relnamespace = 'holdfast'::regnamespace and relkind = 'r' and relname not in ('migration', 'schema_state')
    loop
        execute format('select exists (select from holdfast.%I)', v_name) into v_is_used;
        -- An emptied table that was analysed would look empty to the planner however full it gets. It is made anew,
        -- which takes a file for each of its indexes and of all tables that refer to it.
        if v_is_used and v_analysed then
            v_large := concat_ws(', ', v_large, format('holdfast.%I', v_name));
        elsif v_is_used then
            execute format('delete from holdfast.%I', v_name);
        end if;
    end loop;
    if v_large is not null then
        execute 'truncate ' || v_large || ' cascade';
    end if;
    perform setval(seqrelid, seqmin, false)
    from pg_sequence
    where seqrelid in (select oid from pg_class where relnamespace = 'holdfast'::regnamespace);
end $$;
insert into holdfast.maintenance default values;
create or replace function holdfast.clock() returns timestamptz
language sql volatile as $body$ select clock_timestamp() $body$;
"""


class Recycling:
    """The databases of one server that a test process keeps for its next tests."""

    def __init__(self) -> None:
        self._clean: list[str] = []
        self._fingerprints: dict[str, str] = {}

    def take(self) -> str | None:
        """A database as good as new, if there is one."""
        return self._clean.pop() if self._clean else None

    async def register(self, server_dsn: str, name: str) -> None:
        """Note what a new database looks like."""
        connection = await asyncpg.connect(with_database(server_dsn, name))
        self._fingerprints[name] = await connection.fetchval(FINGERPRINT)
        await connection.close()

    async def give_back(self, server_dsn: str, name: str) -> bool:
        """Empty it for the next test; False when this one changed more than rows, and it has to go."""
        connection = await asyncpg.connect(with_database(server_dsn, name))
        try:
            await connection.execute(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            )
            if await connection.fetchval(FINGERPRINT) != self._fingerprints[name]:
                return False
            await connection.execute(EMPTY)
        except asyncpg.PostgresError:
            return False
        finally:
            await connection.close()
        self._clean.append(name)
        return True

    def all_clean(self) -> list[str]:
        """Hand over what is left, to be dropped."""
        left, self._clean = self._clean, []
        return left
