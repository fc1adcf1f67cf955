-- What a new project of Supabase looks like from within, as far as Holdfast meets it. Run as supabase_admin in the template.

create role postgres login nosuperuser createdb createrole replication bypassrls;
alter role postgres set search_path = "$user", public, extensions;

create role anon nologin inherit;
create role authenticated nologin inherit;
create role service_role nologin inherit bypassrls;
create role authenticator login noinherit;
grant anon, authenticated, service_role to authenticator;
-- The real one also loads pg-safeupdate here, which refuses an UPDATE or DELETE without WHERE; the wheel has no such library.
alter role authenticator set statement_timeout = '8s';
alter role authenticator set lock_timeout = '8s';
alter role anon set statement_timeout = '3s';
alter role authenticated set statement_timeout = '8s';

-- On the real service it does not belong to postgres either, who may use it but not let others do so.
create schema extensions;
grant all on schema extensions to postgres;
grant usage on schema extensions to anon, authenticated, service_role;
-- As the dashboard does it, or "postgres" through supautils, which is not here: it belongs to the superuser either way.
create extension vector schema extensions;

grant usage on schema public to postgres, anon, authenticated, service_role;
grant create on schema public to postgres;
alter default privileges for role postgres, supabase_admin in schema public
    grant all on tables to postgres, anon, authenticated, service_role;
alter default privileges for role postgres, supabase_admin in schema public
    grant all on functions to postgres, anon, authenticated, service_role;
alter default privileges for role postgres, supabase_admin in schema public
    grant all on sequences to postgres, anon, authenticated, service_role;

create publication supabase_realtime;
alter publication supabase_realtime owner to postgres;

-- So PostgREST learns that it must look at the schema anew.
create function extensions.watch_ddl() returns event_trigger language plpgsql as $$
declare
    v_command record;
begin
    for v_command in select * from pg_event_trigger_ddl_commands() loop
        if v_command.command_tag in ('CREATE SCHEMA', 'CREATE TABLE', 'ALTER TABLE', 'CREATE VIEW', 'CREATE FUNCTION', 'ALTER FUNCTION',
                                     'CREATE TYPE', 'COMMENT') and v_command.schema_name is distinct from 'pg_temp' then
            notify pgrst, 'reload schema';
        end if;
    end loop;
end $$;
create function extensions.watch_drops() returns event_trigger language plpgsql as $$
declare
    v_object record;
begin
    for v_object in select * from pg_event_trigger_dropped_objects() loop
        if v_object.object_type in ('schema', 'table', 'view', 'function', 'type') and not v_object.is_temporary then
            notify pgrst, 'reload schema';
        end if;
    end loop;
end $$;
create event trigger pgrst_ddl_watch on ddl_command_end execute function extensions.watch_ddl();
create event trigger pgrst_drop_watch on sql_drop execute function extensions.watch_drops();
