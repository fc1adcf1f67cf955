-- I11: a job's retries and crashes equal a recount of its attempts since its phase began or an operator reopened it; one that
-- was taken over began with those it had.
-- Costs one pass over jobs and attempts, a look-up per job with failures.
select j.id
from holdfast.pipeline_job j
cross join lateral (
    select greatest(
        (select max(a.token) from holdfast.pipeline_phase a where a.job_id = j.id and a.outcome = 'completed'),
        (select max((o.before ->> 'token')::bigint) from holdfast.audit_log o
         where o.job_id = j.id and o.action in ('retry', 'reset')),
        0
    ) as token
) since
cross join lateral (
    select coalesce((
               select t.retry_count from holdfast.taken_row t
               where t.document_id = j.document_id and since.token = 0
                 and not exists (select from holdfast.audit_log o where o.job_id = j.id and o.action in ('retry', 'reset'))), 0)
           + count(*) filter (where a.run = j.run and a.phase = j.phase and a.outcome <> 'released' and a.error ? 'retry_at'
                                  and j.retried_phase_id is not null) as retries,
           count(*) filter (where (a.outcome = 'lost' and not a.error -> 'details' ? 'resumed_as')
                                  or (a.outcome = 'released' and a.category = 'worker_lost')) as crashes
    from holdfast.pipeline_phase a
    where a.job_id = j.id and a.token > since.token
) recount
where (j.retry_count > 0 or j.crash_count > 0
       or j.id in (select a.job_id from holdfast.pipeline_phase a where a.outcome <> 'completed'))
  and (j.retry_count, j.crash_count) <> (recount.retries, recount.crashes)
