-- Moves jobs on from a phase this run has completed: to the next one, or to their end, as settling it would have.
with wrong as (
    select j.id, to_jsonb(j) as before, a.output, p.done_status, n.name as next_phase, n.queued_status
    from holdfast.pipeline_job j
    join holdfast.pipeline_phase a
      on a.job_id = j.id and a.run = j.run and a.phase = j.phase and a.outcome = 'completed'
    join holdfast.phase p on p.pipeline = j.pipeline and p.name = j.phase
    left join lateral (
        select f.name, f.queued_status
        from holdfast.phase f
        where f.pipeline = j.pipeline and f.position > p.position and f.retired_at is null
          and not exists (
              select from holdfast.pipeline_phase c
              where c.job_id = j.id and c.run = j.run and c.phase = f.name and c.outcome = 'completed'
          )
        order by f.position
        limit 1
    ) n on true
    where j.id = any ($1::bigint[])
      and j.state in ('queued', 'failed')
),
mended as (
    update holdfast.pipeline_job j
    set state = case when w.next_phase is null then 'done' else 'queued' end,
        phase = coalesce(w.next_phase, j.phase),
        status = coalesce(w.queued_status, w.done_status),
        retry_count = 0, crash_count = 0, retried_phase_id = null, ready_at = null, last_error = null, error_code = null,
        error_meta = null, retry_reason = null,
        input = coalesce(w.output, j.input),
        queued_at = case when w.next_phase is null then j.queued_at else holdfast.clock() end,
        finished_at = case when w.next_phase is null then holdfast.clock() end
    from wrong w
    where j.id = w.id
    returning j.id, w.before, j.state, j.phase, j.status
)
insert into holdfast.audit_log (at, actor, action, job_id, reason, before, after)
select holdfast.clock(), $2, 'repair', id, 'I2: its phase was completed already',
       jsonb_build_object('state', before -> 'state', 'phase', before -> 'phase', 'status', before -> 'status'),
       jsonb_build_object('state', state, 'phase', phase, 'status', status)
from mended
returning job_id as id
