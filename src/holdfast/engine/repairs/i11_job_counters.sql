-- Sets a job's retries and crashes to a recount of its attempts.
with since as (
    select j.id, j.document_id, j.run, j.phase, j.retried_phase_id, j.retry_count, j.crash_count, greatest(
               (select max(a.token) from holdfast.pipeline_phase a where a.job_id = j.id and a.outcome = 'completed'),
               (select max((o.before ->> 'token')::bigint) from holdfast.audit_log o
                where o.job_id = j.id and o.action in ('retry', 'reset')),
               0) as token
    from holdfast.pipeline_job j
    where j.id = any ($1::bigint[])
),
recount as (
    select s.id, s.retry_count, s.crash_count,
           coalesce((
               select t.retry_count from holdfast.taken_row t
               where t.document_id = s.document_id and s.token = 0
                 and not exists (select from holdfast.audit_log o where o.job_id = s.id and o.action in ('retry', 'reset'))), 0)
           + count(*) filter (where a.run = s.run and a.phase = s.phase and a.outcome <> 'released' and a.error ? 'retry_at'
                                  and s.retried_phase_id is not null) as retries,
           count(*) filter (where (a.outcome = 'lost' and not a.error -> 'details' ? 'resumed_as')
                                  or (a.outcome = 'released' and a.category = 'worker_lost')) as crashes
    from since s
    left join holdfast.pipeline_phase a on a.job_id = s.id and a.token > s.token
    group by s.id, s.document_id, s.token, s.retry_count, s.crash_count
),
mended as (
    update holdfast.pipeline_job j
    set retry_count = r.retries, crash_count = r.crashes
    from recount r
    where j.id = r.id
      and (j.retry_count, j.crash_count) <> (r.retries, r.crashes)
    returning j.id, r.retry_count as retries_before, r.crash_count as crashes_before, j.retry_count, j.crash_count
)
insert into holdfast.audit_log (at, actor, action, job_id, reason, before, after)
select holdfast.clock(), $2, 'repair', id, 'I11: its counters differed from a recount',
       jsonb_build_object('retry_count', retries_before, 'crash_count', crashes_before),
       jsonb_build_object('retry_count', retry_count, 'crash_count', crash_count)
from mended
returning job_id as id
