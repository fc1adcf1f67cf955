-- What a job's document came out of when it was submitted: whoever ends one of many members asks whether another is under way,
-- and must not look at all of them. A hint: where documents exchange their places, the document's own parent_id is what counts.
set local role holdfast_owner;

alter table holdfast.pipeline_job add column parent_id bigint;

update holdfast.pipeline_job j set parent_id = d.parent_id
from holdfast.document d
where d.id = j.document_id and d.parent_id is not null;

create index pipeline_job_members on holdfast.pipeline_job (parent_id, id)
    where parent_id is not null
      and (state in ('queued', 'working', 'held') or state = 'failed' and ready_at is not null);

reset role;
