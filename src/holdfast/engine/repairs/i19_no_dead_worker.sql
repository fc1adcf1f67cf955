-- Takes jobs back from workers that are gone, as a sweep does; also where the worker's own record is missing.
with ended as (
    select j.id, j.worker_id, j.token, holdfast.end_failed(j, 'lost', jsonb_build_object(
               'category', 'worker_lost', 'error_type', 'WorkerLost',
               'error', format('worker %s is gone: its job was taken back by the doctor', j.worker_id))) as state
    from holdfast.pipeline_job j
    where j.id = any ($1::bigint[])
      and j.state = 'working' and j.worker_id is not null and j.started_at is not null and j.token > 0
)
insert into holdfast.audit_log (at, actor, action, job_id, reason, before, after)
select holdfast.clock(), $2, 'repair', id, 'I19: its worker is gone',
       jsonb_build_object('state', 'working', 'worker_id', worker_id, 'token', token), jsonb_build_object('state', state)
from ended
returning job_id as id
