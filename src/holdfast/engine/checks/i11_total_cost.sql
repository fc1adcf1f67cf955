-- I11: a job's cost is the sum of its attempts'. Costs one pass over jobs and attempts.
select j.id
from holdfast.pipeline_job j
left join (
    select job_id, sum(cost_usd) as cost_usd
    from holdfast.pipeline_phase
    group by job_id
) a on a.job_id = j.id
where j.total_cost_usd <> coalesce(a.cost_usd, 0)
