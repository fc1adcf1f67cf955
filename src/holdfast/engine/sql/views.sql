-- Attempts in progress together with the finished ones.
create or replace view holdfast.attempt with (security_invoker = true) as
    select job_id, document_id, organisation, pipeline, phase, run, token, id as phase_id, parent_phase_id, outcome, attempt,
           worker_id, started_at, ended_at, input, output, category, error, cost_usd, null::real as progress
    from holdfast.pipeline_phase
    union all
    select id, document_id, organisation, pipeline, phase, run, token, null, retried_phase_id, 'working', retry_count + 1,
           worker_id, started_at, null, input, null, null, null, 0, progress
    from holdfast.pipeline_job
    where state = 'working';

-- Jobs with their progress in per cent; -1 says that there will be none without help (failed, dead letter, duplicate).
create or replace view holdfast.job_progress with (security_invoker = true) as
    select j.id as job_id,
           case when j.state in ('failed', 'deadletter') then -1
                when j.state = 'working' and j.progress is not null
                then s.progress + round(j.progress * greatest(d.progress - s.progress, 0))::integer
                else s.progress end as percent
    from holdfast.pipeline_job j
    join holdfast.pipeline_status s on s.pipeline = j.pipeline and s.status = j.status
    join holdfast.phase p on p.pipeline = j.pipeline and p.name = j.phase
    join holdfast.pipeline_status d on d.pipeline = p.pipeline and d.status = p.done_status;
