-- What the versions of a document keep of each other.
set local role holdfast_owner;

-- Which of a document's metadata phases found out: that is its content's and stays with it, what was said of it is its place's.
-- Before this was noted, the phases of ours found these two.
alter table holdfast.document add column found_out text[] not null default '{extracted,parsed}';
alter table holdfast.document alter column found_out set default '{}';

-- Who deletes a document deletes the versions it replaced.
create index document_replaced on holdfast.document (organisation, source_platform, source_location)
    where source_location is not null and superseded_at is not null and deleted_at is null;

reset role;
