-- I12: a job that failed for good is not marked for another try. Costs an index scan of waiting jobs.
select id
from holdfast.pipeline_job
where state = 'failed'
  and ready_at is not null
  and last_error ->> 'retryable' = 'false'
