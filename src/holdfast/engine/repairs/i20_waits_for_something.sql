-- Gives jobs that wait for nothing their moment: a retry the one its policy had decided on, any other the present.
with mended as (
    update holdfast.pipeline_job j
    set hold_id = null,
        ready_at = greatest(case when j.state = 'failed' then (j.last_error ->> 'retry_at')::timestamptz end, holdfast.clock())
    from holdfast.pipeline_job old
    left join holdfast.hold h on h.id = old.hold_id and h.drained_at is null
    where j.id = any ($1::bigint[])
      and old.id = j.id
      and old.ready_at is null
      and old.flow = 'new'
      and ((old.state = 'held' and h.id is null) or (old.state = 'failed' and old.last_error ->> 'retryable' = 'true'))
    returning j.id, old.hold_id, j.ready_at
),
woken as (
    select holdfast.wake()
    where exists (select from mended)
)
insert into holdfast.audit_log (at, actor, action, job_id, reason, before, after)
select holdfast.clock(), $2, 'repair', id, 'I20: it waited for nothing',
       jsonb_build_object('hold_id', hold_id, 'ready_at', null), jsonb_build_object('hold_id', null, 'ready_at', ready_at)
from mended
left join woken on true
returning job_id as id
