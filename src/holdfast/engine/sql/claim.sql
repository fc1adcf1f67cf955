-- Takes up to "limit" jobs for each lane (pipeline, phase, limit), by priority, then in fair order. Each claimed job gets
-- a new token, which every later call about this attempt must name. Rows locked by others are passed over; jobs under a
-- hold are parked until it ends and lose nothing. A job suspected of killing workers runs alone: one at a time per worker.
create or replace function holdfast.claim(p_worker text, p_lanes jsonb)
returns table (job_id bigint, token bigint, document_id bigint, organisation text, pipeline text, phase text, run integer,
               attempt integer, limit_seconds double precision, started_at timestamptz, input jsonb, source_name text,
               source_platform text, source_location text, content_hash text, metadata jsonb, answer jsonb)
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_lane record;
    v_any_hold boolean;
    v_holds bigint[] := '{}';
    v_jobs bigint[];
begin
    if not exists (select from worker where id = p_worker and lost_at is null and stopped_at is null) then
        raise exception 'worker "%" is not registered, was declared lost or has stopped: register it under a new id', p_worker
            using errcode = 'HF409';
    end if;
    perform promote();
    v_now := clock();
    v_any_hold := exists (select from hold where drained_at is null);
    if v_any_hold then
        -- All at once, in the order in which everyone locks them; from here on nothing is waited for.
        v_holds := share_holds(p_lanes, v_now);
    end if;
    for v_lane in
        select p.*, l.limit from jsonb_to_recordset(p_lanes) as l(pipeline text, phase text, "limit" integer)
        join phase p on p.pipeline = l.pipeline and p.name = l.phase
        where l.limit > 0
    loop
        v_jobs := pick(v_lane.pipeline, v_lane.name, v_lane.provider, v_lane.budget, v_lane.limit, p_worker, v_holds);
        continue when v_jobs = '{}';
        return query
            with taken as (
                update pipeline_job j
                set state = 'working', status = v_lane.working_status, token = j.token + 1, worker_id = p_worker,
                    started_at = v_now, progress = null, progress_at = v_now
                where j.id = any (v_jobs)
                returning j.id, j.token, j.document_id, j.organisation, j.run, j.retry_count, j.input, j.queued_at,
                          j.retried_phase_id
            )
            select t.id, t.token, t.document_id, t.organisation, v_lane.pipeline, v_lane.name, t.run, t.retry_count + 1,
                   v_lane.limit_seconds, v_now, t.input, d.source_name, d.source_platform, d.source_location,
                   d.content_hash, d.metadata,
                   -- Whoever asked for it before retries that attempt, so a first attempt need not look.
                   case when t.retried_phase_id is not null then answer_for(t.id, t.run, v_lane.name, t.queued_at) end
            from taken t
            join document d on d.id = t.document_id;
    end loop;
    if v_any_hold then
        perform drain_holds();
    end if;
end $$;

-- Locks the holds in force that concern these lanes: one that is being ended right now is waited for, so that nothing is
-- parked behind its back.
create or replace function holdfast.share_holds(p_lanes jsonb, p_now timestamptz) returns bigint[]
language sql set search_path = holdfast, pg_temp set jit = off as $$
    select array(
        select h.id from hold h
        where h.drained_at is null and h.released_at is null and h.until > p_now
          and exists (select from jsonb_to_recordset(p_lanes) as l(pipeline text, phase text, "limit" integer)
                      join phase p on p.pipeline = l.pipeline and p.name = l.phase
                      where l.limit > 0 and hold_covers(h, p))
        order by h.id
        for share
    )
$$;

-- Whether a hold's scope meets a phase, of whichever organisation.
create or replace function holdfast.hold_covers(p_hold holdfast.hold, p_phase holdfast.phase) returns boolean
language sql immutable as $$
    select (p_hold.provider is null or p_hold.provider is not distinct from p_phase.provider)
       and (p_hold.budget is null or p_hold.budget is not distinct from p_phase.budget)
       and (p_hold.pipeline is null or p_hold.pipeline = p_phase.pipeline)
       and (p_hold.phase is null or p_hold.phase = p_phase.name)
$$;

-- Locks the next jobs of a lane that may run now; parks those of held organisations on the way. The caller has locked the
-- holds, of all its lanes, that may keep them.
create or replace function holdfast.pick(
    p_pipeline text, p_phase text, p_provider text, p_budget text, p_limit integer, p_worker text, p_holds bigint[]
) returns bigint[]
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
set enable_bitmapscan = off set jit = off as $$
declare
    v_holds bigint[];
    v_found bigint[];
    v_parked bigint[];
    v_jobs bigint[] := '{}';
begin
    v_holds := array(
        select h.id from hold h
        where h.id = any (p_holds)
          and (h.provider is null or h.provider = p_provider) and (h.budget is null or h.budget = p_budget)
          and (h.pipeline is null or h.pipeline = p_pipeline) and (h.phase is null or h.phase = p_phase)
    );
    if exists (select from hold h where h.id = any (v_holds) and h.organisation is null
               and not exists (select from budget b where b.name = h.budget and b.organisation is not null)) then
        return v_jobs;
    end if;
    for round in 1..50 loop
        v_found := array(
            select id from pipeline_job
            where pipeline = p_pipeline and phase = p_phase and state = 'queued' and crash_count < 2
            order by priority desc, vtime, id
            limit case when v_holds = '{}' then p_limit else greatest(p_limit, 1000) end
            for update skip locked
        );
        v_parked := case when v_holds = '{}' then '{}' else park(v_found, v_holds) end;
        -- What is not parked still stands at the front, so a later round finds it again.
        v_jobs := array(
            select f.id from unnest(v_found) with ordinality as f(id, n)
            where f.id <> all (v_parked) order by f.n limit p_limit
        );
        exit when v_parked = '{}' or cardinality(v_jobs) = p_limit;
    end loop;
    if cardinality(v_jobs) < p_limit and exists (
        select from pipeline_job
        where pipeline = p_pipeline and phase = p_phase and state = 'queued' and crash_count >= 2
    ) then
        v_jobs := v_jobs || pick_suspect(p_pipeline, p_phase, p_worker, v_holds);
    end if;
    return v_jobs;
end $$;

-- Moves those of the locked jobs whose organisation is held to "held" and returns them. A hold on a shared budget does
-- not concern an organisation that has a budget of its own.
create or replace function holdfast.park(p_jobs bigint[], p_holds bigint[]) returns bigint[]
language sql set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
    with parked as (
        update pipeline_job j
        set state = 'held', hold_id = h.id
        from hold h
        where j.id = any (p_jobs) and h.id = any (p_holds)
          and (h.organisation = j.organisation
               or h.organisation is null
               and not exists (select from budget b where b.name = h.budget and b.organisation = j.organisation))
        returning j.id
    )
    select array(select id from parked)
$$;

-- One job that was in flight when workers died, unless this worker runs such a one already.
create or replace function holdfast.pick_suspect(p_pipeline text, p_phase text, p_worker text, p_holds bigint[])
returns bigint[]
language sql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_sort = off set enable_bitmapscan = off set jit = off as $$
    select array(
        select id from pipeline_job
        where pipeline = p_pipeline and phase = p_phase and state = 'queued' and crash_count >= 2
          and not exists (select from pipeline_job s where s.worker_id = p_worker and s.state = 'working' and s.crash_count >= 2)
          and not exists (
              select from hold h
              where h.id = any (p_holds)
                and (h.organisation = pipeline_job.organisation
                     or h.organisation is null
                     and not exists (select from budget b where b.name = h.budget and b.organisation = pipeline_job.organisation)))
        order by priority desc, vtime, id
        limit 1
        for update skip locked
    )
$$;
