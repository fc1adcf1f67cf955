-- The passages of documents: what is embedded, searched and shown. Whether one may be found is said by its document.
set local role holdfast_owner;

create table holdfast.chunk (
    document_id bigint not null references holdfast.document,
    ordinal integer not null check (ordinal >= 0),
    organisation text not null,
    id text not null check (id ~ '^[0-9a-f]{24}$'),   -- the same for the same passage of the same content, in any run
    start_at bigint not null check (start_at >= 0),   -- characters of the standard text, not bytes
    end_at bigint not null check (end_at > start_at),
    text text not null,
    context text not null default '',                 -- situates the text in its document; embedded before it
    place jsonb not null default '{}' check (jsonb_typeof(place) = 'object'),
    text_hash text not null,                          -- of all that is embedded: an equal one has an equal vector
    tokens integer not null generated always as ((octet_length(context) + octet_length(text) + 3) / 4) stored,   -- about
    configuration regconfig not null,
    words tsvector not null,                          -- A: title and headings, B: text, C: context
    primary key (document_id, ordinal)
);
create index chunk_public on holdfast.chunk (organisation, id);
create index chunk_words on holdfast.chunk using gin (words);

reset role;
