-- Sets a job's cost to the sum of its attempts'.
with mended as (
    update holdfast.pipeline_job j
    set total_cost_usd = recount.cost_usd
    from (
        select o.id, o.total_cost_usd, coalesce(sum(a.cost_usd), 0) as cost_usd
        from holdfast.pipeline_job o
        left join holdfast.pipeline_phase a on a.job_id = o.id
        where o.id = any ($1::bigint[])
        group by o.id
    ) recount
    where j.id = recount.id
      and j.total_cost_usd <> recount.cost_usd
    returning j.id, recount.total_cost_usd as before, j.total_cost_usd as after
)
insert into holdfast.audit_log (at, actor, action, job_id, reason, before, after)
select holdfast.clock(), $2, 'repair', id, 'I11: its cost was not the sum of its attempts''',
       jsonb_build_object('total_cost_usd', before), jsonb_build_object('total_cost_usd', after)
from mended
returning job_id as id
