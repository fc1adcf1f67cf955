-- Makes jobs due whose answer came: the next claim takes them up with it.
with mended as (
    update holdfast.pipeline_job j
    set ready_at = holdfast.clock()
    from holdfast.pipeline_job old
    join holdfast.awaited_answer a on a.job_id = old.id and a.deadline = old.ready_at
    where j.id = any ($1::bigint[])
      and old.id = j.id
      and old.state = 'held'
      and old.ready_at > holdfast.clock()
      and a.answered_at is not null
    returning j.id, old.ready_at as before, j.ready_at as after
),
woken as (
    select holdfast.wake()
    where exists (select from mended)
)
insert into holdfast.audit_log (at, actor, action, job_id, reason, before, after)
select holdfast.clock(), $2, 'repair', id, 'I20: it waited for an answer that had come',
       jsonb_build_object('ready_at', before), jsonb_build_object('ready_at', after)
from mended
left join woken on true
returning job_id as id
