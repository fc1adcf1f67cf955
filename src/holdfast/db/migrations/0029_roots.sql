-- A copy answers for itself with what was made of its original, and what came out of a document answers with it: nothing is
-- moved from one place to another any more.
set local role holdfast_owner;

alter table holdfast.document
    add column root_id bigint,          -- the outermost document that this one came out of; null if it came by itself
    add column stands_in_for bigint;    -- a member of a newer version that failed: until it is mended, this one answers there

with recursive member as (
    select d.id, d.parent_id as root_id
    from holdfast.document d join holdfast.document p on p.id = d.parent_id
    where p.parent_id is null
    union all
    select d.id, m.root_id
    from member m join holdfast.document d on d.parent_id = m.id
)
update holdfast.document d set root_id = m.root_id from member m where m.id = d.id;

create index document_members on holdfast.document (root_id, id) where root_id is not null;
create index document_copies on holdfast.document (duplicate_of)
    where duplicate_of is not null and superseded_at is null and deleted_at is null;

-- Content that was replaced is known until it is purged: should it come again, it answers with what was made of it.
-- Of several that were replaced, the newest is kept in mind.
update holdfast.document d set content_hash = null
where d.duplicate_of is null and d.purged_at is null and d.content_hash is not null and d.superseded_at is not null
  and exists (
      select from holdfast.document o
      where o.organisation = d.organisation and o.content_hash = d.content_hash and o.id <> d.id
        and o.duplicate_of is null and o.purged_at is null and (o.superseded_at is null or o.id > d.id));
drop index holdfast.document_content;
create unique index document_content on holdfast.document (organisation, content_hash)
    where duplicate_of is null and purged_at is null and content_hash is not null;

-- Copies of what answers already answer too.
update holdfast.document c
set generation_id = o.generation_id, searchable_at = o.searchable_at,
    metadata = c.metadata || (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(o.metadata) where key = any (o.found_out)),
    found_out = o.found_out
from holdfast.document o
where o.id = c.duplicate_of and o.searchable_at is not null and c.superseded_at is null and c.deleted_at is null;

reset role;
