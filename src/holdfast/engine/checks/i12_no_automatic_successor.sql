-- I12: after a permanent error, or the last one patience allowed, nothing runs unless an operator reopened the job at that
-- token. Costs one pass over attempts, a look-up per final failure.
select distinct a.job_id as id
from holdfast.pipeline_phase a
join holdfast.pipeline_job j on j.id = a.job_id
where a.outcome <> 'completed'
  and a.error ->> 'retryable' = 'false'
  and j.token > a.token
  and not exists (
      select from holdfast.audit_log o
      where o.job_id = a.job_id and o.action in ('retry', 'reset', 'resume') and (o.before ->> 'token')::bigint = a.token
  )
