-- I6: money is set aside only under a live token. Costs one pass over the ledger.
select distinct e.job_id as id
from holdfast.budget_entry e
left join holdfast.pipeline_job j on j.id = e.job_id and j.token = e.token and j.state = 'working'
where e.settled_at is null
  and j.id is null
