-- Renews a worker and records its jobs' progress. Items: job_id, token, progress (0 to 1, or null), ended (its work is over and
-- its ending about to be written: it is late for no limit any more).
-- A worker that was declared lost is back, under its own name: only stop_worker() ends one for good. Attempts that were taken
-- from it and that nobody has claimed since are its own again, each under a new token ("renewed").
-- Answers whether the worker may go on, and which of the handles it named are no longer its own ("stale"): those attempts
-- must stop. Where it names all it has, a claim older than its last heartbeat that it does not name never reached it, and
-- goes back uncharged; a worker that waits for the answer to a claim does not know all it has.
-- p_number counts a worker's heartbeats: one that arrives after a later one changes nothing.
create or replace function holdfast.heartbeat(
    p_worker text, p_jobs jsonb default null, p_names_all boolean default true, p_lease_seconds double precision default 10,
    p_number bigint default null, out alive boolean, out stale jsonb, out renewed jsonb
)
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_now timestamptz := clock();
    v_worker worker;
    v_busy bigint[] := '{}';
begin
    renewed := '[]';
    select * into v_worker from worker where id = p_worker and stopped_at is null for no key update;
    alive := found;
    if p_number <= v_worker.heartbeat_number then
        stale := '[]';
        return;
    end if;
    if alive then
        update worker
        set seen_at = v_now, lost_at = null, heartbeat_number = coalesce(p_number, heartbeat_number),
            ended_jobs = array(select i.job_id from jsonb_to_recordset(p_jobs) as i(job_id bigint, ended boolean) where i.ended),
            in_touch_since = case when v_worker.lost_at is null
                                       and v_worker.seen_at between v_now - make_interval(secs => p_lease_seconds / 2) and v_now
                                  then in_touch_since else v_now end
        where id = p_worker;
        if p_names_all then
            perform give_back((
                select jsonb_agg(jsonb_build_object(
                    'job_id', j.id, 'token', j.token, 'reason', 'its worker never learned of the claim',
                    -- Who has set money aside was there, and nobody knows what it did with it.
                    'cost_usd', case when e.job_id is null then 0 end))
                from pipeline_job j
                left join budget_entry e on e.job_id = j.id and e.token = j.token
                where p_jobs is not null and j.worker_id = p_worker and j.state = 'working' and j.started_at < v_worker.seen_at
                  and (j.id, j.token) not in (
                      select i.job_id, i.token from jsonb_to_recordset(p_jobs) as i(job_id bigint, token bigint))
                  -- It names the old token where the answer that renewed it was lost.
                  and j.token not in (
                      select coalesce(token_after(i.job_id, i.token), 0)
                      from jsonb_to_recordset(p_jobs) as i(job_id bigint, token bigint) where i.job_id = j.id)
            ));
        end if;
        select r.renewed, r.busy into renewed, v_busy from resume_attempts(p_worker, p_jobs) r;
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
    where (alive and j.state = 'working' and (j.token = i.token or token_after(i.job_id, i.token) = j.token)) is not true
      and i.job_id <> all (v_busy);   -- the next one will see
end $$;
