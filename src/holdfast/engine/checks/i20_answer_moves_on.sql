-- I20: an answer that came moves the job that waited for it. Costs an index scan of waiting jobs, a look-up for each.
select j.id
from holdfast.pipeline_job j
join holdfast.awaited_answer a on a.job_id = j.id and a.deadline = j.ready_at
cross join moment
where j.state = 'held'
  and j.ready_at > moment.at
  and a.answered_at is not null
