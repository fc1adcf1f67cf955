-- Ends the wait of held jobs whose phase this run has completed: from there a job may only go to the queue, and on from that.
with mended as (
    update holdfast.pipeline_job j
    set state = 'queued', hold_id = null, ready_at = null
    where j.id = any ($1::bigint[])
      and j.state = 'held'
      and exists (
          select from holdfast.pipeline_phase a
          where a.job_id = j.id and a.run = j.run and a.phase = j.phase and a.outcome = 'completed'
      )
    returning j.id
)
insert into holdfast.audit_log (at, actor, action, job_id, reason, before, after)
select holdfast.clock(), $2, 'repair', id, 'I2: it waited for a phase that was completed already',
       jsonb_build_object('state', 'held'), jsonb_build_object('state', 'queued')
from mended
returning job_id as id
