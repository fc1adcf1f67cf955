-- The attempts of jobs in their order, the one in progress included.
create or replace function holdfast.overview_attempts(p_jobs bigint[])
returns table (job_id bigint, attempt_id bigint, retries_attempt_id bigint, pipeline text, phase text, run integer, token bigint,
               attempt integer, outcome text, worker_id text, started_at timestamptz, ended_at timestamptz,
               seconds double precision, progress real, input jsonb, output jsonb, category text, error jsonb, cost_usd numeric)
language sql stable set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
    select a.job_id, a.phase_id, a.parent_phase_id, a.pipeline, a.phase, a.run, a.token, a.attempt, a.outcome, a.worker_id,
           a.started_at, a.ended_at, extract(epoch from coalesce(a.ended_at, clock()) - a.started_at)::double precision,
           a.progress, a.input, a.output, a.category, a.error, a.cost_usd
    from attempt a
    where a.job_id = any (p_jobs)
    order by a.job_id, a.token
$$;

grant execute on function holdfast.overview_attempts(bigint[]) to holdfast_api, holdfast_readonly;
