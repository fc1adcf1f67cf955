-- Which models turn passages into vectors, and the words by which passages are found. Vectors need the extension vector
-- (pgvector): where it is absent everything else works, and ensure_vectors() makes their table as soon as it is there.

do $extension$
begin
    -- A schema of its own: whoever empties "public" would take the vectors along.
    if exists (select from pg_available_extensions where name = 'vector' and installed_version is null) then
        create schema if not exists extensions;
        create extension vector schema extensions;
    end if;
exception
    when insufficient_privilege then
        raise notice 'pgvector is not installed: as a superuser run `create extension vector`';
end
$extension$;

-- Functions act as the owner, who must be able to name the type wherever it was installed.
do $usage$
declare
    v_schema text := (select extnamespace::regnamespace::text from pg_extension where extname = 'vector');
begin
    if v_schema is not null then
        execute format('grant usage on schema %s to holdfast_owner, holdfast_worker, holdfast_api, holdfast_readonly', v_schema);
    end if;
exception
    when insufficient_privilege then
        raise notice 'the roles of Holdfast may not use schema %: as a superuser grant it, unless it is open to all', v_schema;
end
$usage$;

set local role holdfast_owner;

-- The active one answers searches and takes new vectors; closed means that it is about to be replaced and takes no more.
create table holdfast.embedder (
    id smallint generated always as identity primary key,
    name text not null unique check (length(name) between 1 and 255),
    dimension integer not null check (dimension between 1 and 16000),
    active boolean not null default false,
    closed_at timestamptz,
    created_at timestamptz not null,
    check (closed_at is null or active)
);
create unique index embedder_active on holdfast.embedder (active) where active;

-- Words of one organisation are found without reading another's: its name stands among them as a word that no text has.
drop index holdfast.chunk_words;
create index chunk_words on holdfast.chunk
    using gin ((words || array_to_tsvector(array['organisation ' || organisation])));
-- Texts and words are kept apart from their rows: looking through many passages for some words then reads few pages.
alter table holdfast.chunk set (toast_tuple_target = 256);
create index chunk_configuration on holdfast.chunk (organisation, configuration);

reset role;
