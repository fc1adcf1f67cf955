-- I6: attempts and money are recorded only under tokens that were handed out; an attempt's token is no longer live.
-- Costs one pass over jobs, attempts and ledger.
select a.job_id as id
from holdfast.pipeline_phase a
left join holdfast.pipeline_job j on j.id = a.job_id
where j.id is null
   or a.token not between 1 and j.token - (j.state = 'working')::integer
   or a.run > j.run
union
select e.job_id
from holdfast.budget_entry e
left join holdfast.pipeline_job j on j.id = e.job_id
where j.id is null
   or e.token not between 1 and j.token
