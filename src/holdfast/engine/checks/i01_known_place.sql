-- I1: a job is in exactly one state, at a status and a phase its pipeline knows. Costs one pass over the jobs.
select j.id
from holdfast.pipeline_job j
left join holdfast.pipeline_status s on s.pipeline = j.pipeline and s.status = j.status
left join holdfast.phase p on p.pipeline = j.pipeline and p.name = j.phase
where j.state not in ('queued', 'working', 'failed', 'held', 'done', 'deadletter', 'cancelled')
   or s.status is null
   or p.name is null
