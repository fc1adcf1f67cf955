-- What a language model wrote: stories told of articles, and readings generated from prompts.
set local role holdfast_owner;

-- "source_platform" and "source_location" are where the article stood when it was told: of several versions of one location
-- only the newest counts.
create table holdfast.story (
    document_id bigint primary key references holdfast.document,
    organisation text not null,
    source_platform text not null,
    source_location text,
    title text,
    url text,
    published_at text,   -- as its source writes it
    summary_neutral text not null,
    summary_spicy text not null,
    category text not null,
    severity smallint not null check (severity between 0 and 10),
    primary_actor text,
    top_entities text[] not null,
    entity_counter jsonb not null check (jsonb_typeof(entity_counter) = 'object'),
    model text not null,
    told_at timestamptz not null
);
create index story_location on holdfast.story (organisation, source_platform, source_location, document_id)
    where source_location is not null;

-- What each story that counts adds to the totals: a story counts exactly as long as its rows are here.
create table holdfast.story_entity (
    document_id bigint not null references holdfast.story,
    normalised_name text not null check (length(normalised_name) between 1 and 255),
    organisation text not null,
    name text not null,
    mentions integer not null check (mentions > 0),
    primary key (document_id, normalised_name)
);

-- Kept up to date with every story, so that asking costs the same however many stories there are.
create table holdfast.story_entity_total (
    organisation text not null,
    normalised_name text not null,
    name text not null,   -- as it was written first
    stories integer not null check (stories >= 0),
    mentions bigint not null check (mentions >= 0),
    primary key (organisation, normalised_name)
);
create index story_entity_total_rank on holdfast.story_entity_total (organisation, mentions desc, normalised_name);

create table holdfast.reading (
    document_id bigint primary key references holdfast.document,
    organisation text not null,
    text text not null,
    model text not null,
    generated_at timestamptz not null
);

reset role;
