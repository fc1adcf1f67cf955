-- Clears worker and start of jobs that do not work. A job that works for nobody goes back as if its worker had died.
with wrong as (
    select j.id, j.state, to_jsonb(j) as before,
           jsonb_populate_record(j, jsonb_build_object(
               'worker_id', coalesce(j.worker_id, 'unknown'),
               'started_at', coalesce(j.started_at, j.progress_at, holdfast.clock()))) as job
    from holdfast.pipeline_job j
    where j.id = any ($1::bigint[])
      and ((j.state = 'working') <> (j.worker_id is not null) or (j.state = 'working') <> (j.started_at is not null))
      and (j.state <> 'working' or j.token > 0)
),
cleared as (
    update holdfast.pipeline_job j
    set worker_id = null, started_at = null
    from wrong w
    where j.id = w.id and w.state <> 'working'
    returning j.id, w.before, j.state as after
),
ended as (
    select w.id, w.before, holdfast.end_failed(w.job, 'lost', jsonb_build_object(
               'category', 'worker_lost', 'error_type', 'WorkerLost',
               'error', 'the record names no worker or no start: taken back by the doctor')) as after
    from wrong w
    where w.state = 'working'
)
insert into holdfast.audit_log (at, actor, action, job_id, reason, before, after)
select holdfast.clock(), $2, 'repair', id, 'I4: state, worker and start disagreed',
       jsonb_build_object('state', before -> 'state', 'worker_id', before -> 'worker_id', 'started_at', before -> 'started_at'),
       jsonb_build_object('state', after)
from (select * from cleared union all select * from ended) mended
returning job_id as id
