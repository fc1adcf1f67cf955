-- Renews a worker and records its jobs' progress. Items: job_id, token, progress (0 to 1, or null).
-- Answers whether the worker still counts as alive, and which of the handles it named are no longer its own: those
-- attempts must stop and write nothing. A claim older than the last heartbeat that the worker does not name never reached
-- it, so it goes back uncharged; without items (null) nothing is compared.
create or replace function holdfast.heartbeat(p_worker text, p_jobs jsonb default null, out alive boolean, out stale jsonb)
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_now timestamptz := clock();
    v_last_seen timestamptz;
begin
    select seen_at into v_last_seen from worker
    where id = p_worker and lost_at is null and stopped_at is null
    for no key update;
    alive := found;
    if alive then
        update worker set seen_at = v_now where id = p_worker;
        perform give_back((
            select jsonb_agg(jsonb_build_object('job_id', j.id, 'token', j.token, 'reason', 'its worker never learned of the claim'))
            from pipeline_job j
            where p_jobs is not null and j.worker_id = p_worker and j.state = 'working' and j.started_at < v_last_seen
              and (j.id, j.token) not in (
                  select i.job_id, i.token from jsonb_to_recordset(p_jobs) as i(job_id bigint, token bigint))
        ));
    end if;
    -- Jobs are found by key alone: where the state is named too, a plan may walk all jobs under way once for every item.
    with reported as materialized (
        select j.id, j.state, i.progress
        from jsonb_to_recordset(p_jobs) as i(job_id bigint, token bigint, progress real)
        join pipeline_job j on j.id = i.job_id and j.token = i.token
        where i.progress is not null and i.progress is distinct from j.progress
        for no key update of j skip locked   -- one that is being settled has no use for progress
    )
    update pipeline_job j
    set progress = least(greatest(r.progress, 0), 1), progress_at = v_now
    from reported r
    where j.id = r.id and r.state = 'working';
    select coalesce(jsonb_agg(jsonb_build_object('job_id', i.job_id, 'token', i.token)), '[]')
    into stale
    from jsonb_to_recordset(p_jobs) as i(job_id bigint, token bigint)
    left join pipeline_job j on j.id = i.job_id
    where not alive or (j.token = i.token and j.state = 'working') is not true;
end $$;
