-- How often phases of a job were tried again because they had failed, the attempt in progress included. What was lost with its
-- worker or given back had not failed. Reads only.
create or replace function holdfast.retries_of(p_job bigint) returns bigint
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select count(*)
    from attempt a
    join lateral (select outcome from pipeline_phase o where o.id = a.parent_phase_id offset 0) before on true
    where a.job_id = p_job and before.outcome in ('failed', 'timeout')
$$;

grant execute on function holdfast.retries_of(bigint) to holdfast_worker, holdfast_api, holdfast_readonly;
