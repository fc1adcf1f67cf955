-- Jobs as people see them: where each stands, how far it is and what happens next. Unknown ids are left out.
create or replace function holdfast.overview_cards(p_jobs bigint[])
returns table (job_id bigint, document_id bigint, organisation text, source_name text, platform text, pipeline text, phase text,
               run integer, status text, state text, percent integer, priority smallint, retry_count integer,
               max_retries integer, crash_count integer, worker_id text, started_at timestamptz, retry_at timestamptz,
               hold_id bigint, last_error jsonb, total_cost_usd numeric, submitted_at timestamptz, queued_at timestamptz,
               finished_at timestamptz, flow text, next text)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select j.id, j.document_id, j.organisation, d.source_name, d.source_platform, j.pipeline, j.phase, j.run, j.status, j.state,
           g.percent, j.priority, j.retry_count, j.max_retries, j.crash_count, j.worker_id, j.started_at, j.ready_at, j.hold_id,
           j.last_error, j.total_cost_usd, j.submitted_at, j.queued_at, j.finished_at, j.flow, overview_next(j)
    from pipeline_job j
    join document d on d.id = j.document_id
    join job_progress g on g.job_id = j.id
    where j.id = any (p_jobs)
    order by j.document_id desc, j.id desc
$$;

grant execute on function holdfast.overview_cards(bigint[]) to holdfast_api, holdfast_readonly;
