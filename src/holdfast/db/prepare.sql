-- Prepares a database for Holdfast, so that a login without further rights can migrate and use it: {names}.
-- Run it in that database as a superuser: psql --dbname … --file …, or in any SQL editor. Safe to repeat; PostgreSQL 15 or newer.
begin;

{roles}
-- Everything is kept in one schema.
do $schema$
begin
    if to_regnamespace('holdfast') is null then
        create schema holdfast authorization holdfast_owner;
    else
        alter schema holdfast owner to holdfast_owner;
    end if;
end
$schema$;

-- Optional, for searching by meaning: pgvector 0.8 or newer, where the server has it.
do $vectors$
declare
    v_schema text;
begin
    if exists (select from pg_available_extensions where name = 'vector' and installed_version is null) then
        create schema if not exists extensions;
        create extension vector schema extensions;
    end if;
    select extnamespace::regnamespace::text into v_schema from pg_extension where extname = 'vector';
    if v_schema is not null then
        execute format('grant usage on schema %s to holdfast_owner', v_schema);
    end if;
end
$vectors$;

commit;
