-- I4: a job is working exactly when worker, start and token are set. Costs one pass over the jobs.
select id
from holdfast.pipeline_job
where (state = 'working') <> (worker_id is not null)
   or (state = 'working') <> (started_at is not null)
   or (state = 'working' and token <= 0)
