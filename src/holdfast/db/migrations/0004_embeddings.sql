-- replaces 8250c765da56c4018d779ea3dfbec235c04aacd35171c6f440671272170c5c2d
-- Which models turn passages into vectors, and the words by which passages are found. Vectors need the extension vector
-- (pgvector): where it is absent everything else works, and ensure_vectors() makes their table as soon as it is there.

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
