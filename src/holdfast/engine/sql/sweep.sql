-- Takes back what dead workers held, ends what passed its limit, moves jobs out of retired phases, and once a minute
-- cleans up. Safe at any time, by any number of callers. A worker is lost when it was silent for the lease. A worker that
-- sweeps ("p_worker") declares others lost only once it has itself been in touch for a full lease, and the server up that long:
-- an outage for everybody ends nobody. "undecided" says that jobs of silent workers are left until then.
-- Some hundred jobs a call: "more" says whether there are others.
create or replace function holdfast.sweep(
    p_lease_seconds double precision default 10, p_worker text default null,
    out lost_jobs bigint[], out timed_out_jobs bigint[], out rerouted_jobs bigint, out more boolean, out undecided boolean
)
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_hashjoin = off set enable_mergejoin = off set jit = off set lock_timeout = '2s' as $$
declare
    c_batch constant integer := 200;
    v_now timestamptz := clock();
    v_silent_since timestamptz := v_now - make_interval(secs => p_lease_seconds);
    v_job pipeline_job;
    v_timeouts record;
begin
    lost_jobs := '{}';
    -- A clock that was set back: who was seen in what is now the future would never fall silent.
    update worker set seen_at = v_now, in_touch_since = least(in_touch_since, v_now)
    where id in (select id from worker where lost_at is null and stopped_at is null and seen_at > v_now for update skip locked);
    undecided := not may_judge(p_worker, p_lease_seconds, v_now);
    if undecided then
        undecided := exists (
            select from worker w
            where w.lost_at is null and w.stopped_at is null and w.seen_at < v_silent_since
              and exists (select from pipeline_job j where j.worker_id = w.id and j.state = 'working'));
    else
        update worker set lost_at = v_now
        where id in (select id from worker
                     where lost_at is null and stopped_at is null and seen_at < v_silent_since
                     for update skip locked);
    end if;
    for v_job in
        select * from lock_and_list_jobs(array(
            select j.id from pipeline_job j
            join worker w on w.id = j.worker_id
            join document d on d.id = j.document_id
            where j.state = 'working' and (w.lost_at is not null or w.stopped_at is not null)
            limit c_batch
            for update of j skip locked
            for no key update of d skip locked   -- one that someone keeps must not keep all others
        ), 'worker_lost')
    loop
        perform end_failed(v_job, 'lost', jsonb_build_object(
            'category', 'worker_lost', 'error_type', 'WorkerLost',
            'error', format('worker %s died or fell silent during %s', v_job.worker_id, v_job.phase)));
        lost_jobs := lost_jobs || v_job.id;
    end loop;
    v_timeouts := check_timeouts(case when p_worker is not null then p_lease_seconds end);
    timed_out_jobs := v_timeouts.updated_jobs;
    more := v_timeouts.more or cardinality(lost_jobs) = c_batch;
    rerouted_jobs := reroute();
    update pipeline p set front = f.front
    from (select name, front(name) as front from pipeline) f
    where p.name = f.name and f.front > p.front;
    if exists (select from maintenance where cleaned_at < v_now - interval '1 minute') then
        perform clean_up();
    end if;
end $$;

-- Whether a caller's word about others counts: it has been in touch for as long as their silence must last, or is no worker
-- and knows what it does.
create or replace function holdfast.may_judge(p_worker text, p_lease_seconds double precision, p_now timestamptz) returns boolean
language sql stable set search_path = holdfast, pg_temp as $$
    select p_worker is null
        or pg_postmaster_start_time() < p_now - make_interval(secs => p_lease_seconds)
           and exists (select from worker
                       where id = p_worker and lost_at is null and stopped_at is null
                         and in_touch_since <= p_now - make_interval(secs => p_lease_seconds)
                         and seen_at >= p_now - make_interval(secs => p_lease_seconds / 2))
$$;

-- Moves waiting jobs of retired phases to where they go on; those with nothing left to do are done. In batches.
create or replace function holdfast.reroute() returns bigint
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off as $$
declare
    v_retired phase;
    v_jobs bigint[];
    v_done bigint[];
    v_count bigint := 0;
begin
    for v_retired in select * from phase where retired_at is not null loop
        -- Asked apart, suspects and others: each have an index of their own.
        v_jobs := array(
            select id from pipeline_job
            where pipeline = v_retired.pipeline and phase = v_retired.name and state = 'queued' and crash_count < 2
            order by priority desc, vtime, id
            limit 1000
            for update skip locked
        ) || array(
            select id from pipeline_job
            where pipeline = v_retired.pipeline and phase = v_retired.name and state = 'queued' and crash_count >= 2
            order by priority desc, vtime, id
            limit 1000
            for update skip locked
        );
        continue when v_jobs = '{}';
        with moved as (
            update pipeline_job j
            set state = case when n.name is null then 'done' else 'queued' end,
                phase = coalesce(n.name, j.phase),
                status = coalesce(n.queued_status, v_retired.done_status),
                retry_count = 0, retried_phase_id = null,
                queued_at = case when n.name is null then j.queued_at else clock() end,
                finished_at = case when n.name is null then clock() end
            from pipeline_job w
            left join lateral (
                select f.name, f.queued_status
                from phase f
                where f.pipeline = w.pipeline and f.retired_at is null and f.position > v_retired.position
                  -- A declaration that was reordered may name a phase next that this run has behind it.
                  and not exists (select from pipeline_phase a where a.job_id = w.id and a.run = w.run
                                  and a.phase = f.name and a.outcome = 'completed')
                order by f.position
                limit 1
            ) n on true
            where w.id = any (v_jobs) and j.id = w.id
            returning j.id, j.state
        )
        select array_agg(id) filter (where state = 'done') into v_done from moved;
        perform announce_jobs('job.done', v_done);
        v_count := v_count + cardinality(v_jobs);
    end loop;
    return v_count;
end $$;

-- Errors, notices and closed incidents are kept 30 days, gone workers 7; a place in the fair order that the queue has passed says nothing any more.
create or replace function holdfast.clean_up() returns void
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_now timestamptz := clock();
begin
    perform from maintenance where cleaned_at < v_now - interval '1 minute' for update skip locked;
    if not found then
        return;
    end if;
    update maintenance set cleaned_at = v_now where cleaned_at < v_now;
    delete from error_log
    where id in (select id from error_log where at < v_now - interval '30 days' order by at limit 10000 for update skip locked);
    delete from notice
    where id in (select id from notice where at < v_now - interval '30 days' order by at limit 10000 for update skip locked);
    -- No index leads to them: of alerts there are few, and what is older goes with the next round.
    delete from incident
    where id in (select id from incident where closed_at < v_now - interval '30 days' limit 10000 for update skip locked);
    delete from worker w
    where coalesce(w.lost_at, w.stopped_at) < v_now - interval '7 days'
      and not exists (select from pipeline_job j where j.worker_id = w.id and j.state = 'working');
    delete from fair_share
    where id in (select s.id from fair_share s join pipeline p on p.name = s.pipeline
                 where s.last_vtime <= p.front for update of s skip locked);
    perform forget_awaited_answers(v_now);
end $$;
