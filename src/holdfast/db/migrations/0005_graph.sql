-- The knowledge graph: what documents speak of, and how it hangs together. An entity exists while a chunk mentions it, and a
-- relation is the chunks that say so: nothing in here lacks a source. Only functions write, and they take the document
-- from a job and the entities from the same chunk: checking each row for that again would cost a third of adding.
set local role holdfast_owner;

create table holdfast.entity (
    id bigint generated always as identity primary key,
    organisation text not null,
    kind text not null check (length(kind) between 1 and 63),
    name text not null,              -- as it was written first
    normalised_name text not null check (length(normalised_name) between 1 and 255),
    unique (organisation, kind, normalised_name)
);

create table holdfast.entity_mention (
    entity_id bigint not null references holdfast.entity,
    document_id bigint not null,
    ordinal integer not null,
    organisation text not null,
    count integer not null check (count > 0),
    primary key (entity_id, document_id, ordinal)
);
create index entity_mention_chunk on holdfast.entity_mention (document_id, ordinal);

-- One row for each chunk that says so. "maker" says who found it: a rule that only saw two names side by side is not to be
-- believed like a model that read them.
create table holdfast.relation (
    document_id bigint not null,
    ordinal integer not null,
    subject_id bigint not null,
    predicate text not null check (length(predicate) between 1 and 63),
    object_id bigint not null,
    organisation text not null,
    maker text not null,
    confidence real not null check (confidence between 0 and 1),
    primary key (document_id, ordinal, subject_id, object_id, predicate)
);

reset role;
