-- I9: no retry beyond what the policy allowed when it decided, no live job at the crash cap. An operator may change a policy
-- at any time, so each decision is judged by the figures recorded with it. Costs one pass over attempts and jobs.
select job_id as id
from holdfast.pipeline_phase
where outcome not in ('completed', 'released')
  and error ? 'retry_at'
  and (error ->> 'retry_count')::integer >= (error ->> 'max_retries')::integer
union
select id
from holdfast.pipeline_job
where crash_count >= 3
  and state not in ('done', 'deadletter', 'cancelled')
