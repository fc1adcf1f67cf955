-- I12: no retry before its time, unless an operator asked for it. A second is granted for a server's clock being set.
-- Costs one pass over attempts, a look-up per retry.
select distinct a.job_id as id
from holdfast.pipeline_phase a
cross join moment
join holdfast.pipeline_job j on j.id = a.job_id
left join holdfast.pipeline_phase b on b.job_id = a.job_id and b.token = a.token + 1
where a.outcome not in ('completed', 'released')
  and a.error ? 'retry_at'
  and (a.error ->> 'retry_at')::timestamptz - interval '1 second' > case
          when b.id is not null then b.started_at
          when j.state = 'working' and j.token = a.token + 1 then j.started_at
          when j.state = 'queued' and j.token = a.token then moment.at
      end
  and not exists (
      select from holdfast.audit_log o
      where o.job_id = a.job_id and o.action in ('retry', 'reset') and (o.before ->> 'token')::bigint = a.token
  )
