-- Settles reservations whose attempt is over. Nobody knows what was spent: all of it counts, so the limit holds for certain.
with stray as (
    select e.job_id, e.token, e.reserved_usd, j.state
    from holdfast.budget_entry e
    join holdfast.pipeline_job j on j.id = e.job_id
    where e.job_id = any ($1::bigint[])
      and e.settled_at is null
      and (j.state <> 'working' or j.token <> e.token)
    order by e.budget_id, e.day
),
settled as (
    select job_id, token, reserved_usd, holdfast.settle_entry(job_id, token, null) as done
    from stray
),
noted as (
    insert into holdfast.audit_log (at, actor, action, job_id, reason, before, after)
    select holdfast.clock(), $2, 'repair', job_id, 'I6: a reservation outlived its attempt',
           jsonb_build_object('token', token, 'reserved_usd', reserved_usd),
           jsonb_build_object('token', token, 'spent_usd', reserved_usd)
    from settled
    returning job_id
)
select distinct job_id as id from noted
