-- Takes the next try away from jobs that failed for good.
with mended as (
    update holdfast.pipeline_job j
    set ready_at = null
    from holdfast.pipeline_job old
    where j.id = any ($1::bigint[])
      and old.id = j.id
      and j.state = 'failed' and j.ready_at is not null and j.last_error ->> 'retryable' = 'false'
    returning j.id, old.ready_at as before
)
insert into holdfast.audit_log (at, actor, action, job_id, reason, before, after)
select holdfast.clock(), $2, 'repair', id, 'I12: it failed for good and was still due',
       jsonb_build_object('ready_at', before), jsonb_build_object('ready_at', null)
from mended
returning job_id as id
