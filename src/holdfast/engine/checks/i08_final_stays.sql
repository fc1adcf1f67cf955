-- I8: a final state stays unless an operator reopened the job, which the audit log shows. Costs one pass over the jobs and
-- over the audit log, a look-up per waiting job.
select id
from holdfast.pipeline_job
where (state in ('done', 'deadletter', 'cancelled')) <> (finished_at is not null)
union
select j.id
from holdfast.pipeline_job j
join holdfast.pipeline_phase a on a.job_id = j.id and a.token = j.token
where j.state in ('queued', 'held')
  and a.error ->> 'retryable' = 'false'
  and not exists (
      select from holdfast.audit_log o
      where o.job_id = j.id and o.action in ('retry', 'reset') and (o.before ->> 'token')::bigint = j.token
  )
union
select j.id
from holdfast.pipeline_job j
where j.run > 1
  and not exists (
      select from holdfast.audit_log o
      where o.job_id = j.id and o.action in ('retry', 'reset') and (o.after ->> 'run')::integer = j.run
  )
union
select j.id
from (
    select distinct on (job_id) job_id, action
    from holdfast.audit_log
    where action in ('cancel', 'retry', 'reset')
    order by job_id, id desc
) last_act
join holdfast.pipeline_job j on j.id = last_act.job_id
where last_act.action = 'cancel'
  and j.state <> 'cancelled'
