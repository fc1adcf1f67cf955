-- What the documents pipeline keeps of a document: its versions, what is stored for it, and that it was removed.
set local role holdfast_owner;

-- Several documents of one source location are its versions. One of them answers searches: the newest that is complete.
-- Their order is that of their ids, unless one took another's place because that had the same content: then "version" says
-- where it stands.
alter table holdfast.document
    add column version bigint,
    add column searchable_at timestamptz,
    add column superseded_at timestamptz,
    add column superseded_by bigint references holdfast.document,
    add column purged_at timestamptz,    -- what was made from a superseded one is gone
    add column deleted_at timestamptz,   -- everything is gone: what is left is the proof that it was here
    add constraint only_searchable_until_superseded check (superseded_at is null or superseded_by is not null);

-- Content that was replaced or removed may come again, and then runs again.
drop index holdfast.document_content;
create unique index document_content on holdfast.document (organisation, content_hash)
    where duplicate_of is null and superseded_at is null and deleted_at is null and content_hash is not null;
create index document_location on holdfast.document (organisation, source_platform, source_location, id desc)
    where source_location is not null and superseded_at is null and deleted_at is null;
create index document_duplicates on holdfast.document (duplicate_of) where duplicate_of is not null;
create index document_unpurged on holdfast.document (superseded_at, id)
    where superseded_at is not null and purged_at is null and deleted_at is null;

-- An object in the store, per organisation. The row is written after the object, and goes before it.
create table holdfast.artifact (
    organisation text not null,
    hash text not null check (hash ~ '^[0-9a-f]{64}$'),
    size bigint not null check (size >= 0),
    stored_at timestamptz not null,
    primary key (organisation, hash)
);

-- Which document needs which artifact, and as what: original, text, spans …
create table holdfast.artifact_use (
    document_id bigint not null references holdfast.document,
    kind text not null,
    organisation text not null,
    hash text not null,
    used_at timestamptz not null,
    primary key (document_id, kind),
    foreign key (organisation, hash) references holdfast.artifact
);
create index artifact_use_artifact on holdfast.artifact_use (organisation, hash);

reset role;
