-- I5: every token that was handed out and is no longer live has exactly one attempt. Costs one pass over jobs and attempts.
select j.id
from holdfast.pipeline_job j
left join (
    select t.job_id, count(*) as tokens, max(t.attempts) as attempts
    from (
        select a.job_id, a.token, count(*) as attempts
        from holdfast.pipeline_phase a
        join holdfast.pipeline_job o on o.id = a.job_id
        where a.token between 1 and o.token - (o.state = 'working')::integer
        group by a.job_id, a.token
    ) t
    group by t.job_id
) ended on ended.job_id = j.id
where coalesce(ended.tokens, 0) <> j.token - (j.state = 'working')::integer
   or ended.attempts > 1
