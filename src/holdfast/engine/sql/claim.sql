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
    v_served jsonb;
    v_lane record;
    v_jobs bigint[];
begin
    select w.lanes into v_served from worker w where w.id = p_worker and w.lost_at is null and w.stopped_at is null;
    if not found then
        raise exception 'worker "%" is not registered, was declared lost or has stopped: register it under a new id', p_worker
            using errcode = 'HF409';
    end if;
    -- Before any job is locked: a heartbeat locks the worker first and its jobs second.
    v_served := note_lanes(p_worker, v_served, p_lanes);
    perform promote();
    v_now := clock();
    for v_lane in
        select as_served(p, v_served) as phase, p.pipeline, p.name, p.working_status, p.limit_seconds, l.limit
        from jsonb_to_recordset(p_lanes) as l(pipeline text, phase text, "limit" integer)
        join phase p on p.pipeline = l.pipeline and p.name = l.phase
        where l.limit > 0
    loop
        v_jobs := pick(v_lane.phase, v_lane.limit, p_worker, v_now);
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
    perform drain_holds();
end $$;

-- Remembers lanes that a worker asks for without having named them before: who is served is read from there. Returns all it has.
create or replace function holdfast.note_lanes(p_worker text, p_known jsonb, p_lanes jsonb) returns jsonb
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_new jsonb := (
        select jsonb_agg(to_jsonb(l)) from jsonb_to_recordset(p_lanes) as l(pipeline text, phase text, "limit" integer)
        where l.limit > 0 and not p_known @> jsonb_build_array(jsonb_build_object('pipeline', l.pipeline, 'phase', l.phase)));
begin
    if v_new is not null then
        update worker set lanes = lanes || v_new where id = p_worker returning lanes into p_known;
    end if;
    return p_known;
end $$;

-- A phase as a worker with these lanes runs it: with its own provider and budget, where it has named them.
create or replace function holdfast.as_served(p_phase holdfast.phase, p_lanes jsonb) returns holdfast.phase
language plpgsql immutable set search_path = holdfast, pg_temp as $$
declare
    v_lane jsonb := (
        select l from jsonb_array_elements(p_lanes) l
        where l ->> 'pipeline' = p_phase.pipeline and l ->> 'phase' = p_phase.name and l ? 'provider'
        limit 1);
begin
    if v_lane is not null then
        p_phase.provider := v_lane ->> 'provider';
        p_phase.budget := v_lane ->> 'budget';
    end if;
    return p_phase;
end $$;

-- Locks the next jobs of a lane that may run now; parks those of held organisations on the way. Looks at holds only when
-- there is something to claim, and locks only those that something is parked behind.
create or replace function holdfast.pick(p_phase holdfast.phase, p_limit integer, p_worker text, p_now timestamptz) returns bigint[]
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
set enable_bitmapscan = off set jit = off as $$
declare
    v_suspect pipeline_job;
    v_last pipeline_job;
    v_holds_exist boolean := exists (select from hold where drained_at is null);
    v_found bigint[];
    v_parked bigint[];
    v_passed_over bigint[];
    v_jobs bigint[] := '{}';
begin
    select * into v_suspect from pipeline_job
    where pipeline = p_phase.pipeline and phase = p_phase.name and state = 'queued' and crash_count >= 2
    order by priority desc, vtime, id
    limit 1;
    if v_suspect.id is null and not exists (
        select from pipeline_job
        where pipeline = p_phase.pipeline and phase = p_phase.name and state = 'queued' and crash_count < 2
    ) or v_holds_exist and is_held(p_phase, p_now) then
        return v_jobs;
    end if;
    for round in 1..50 loop
        v_found := array(
            select id from pipeline_job
            where pipeline = p_phase.pipeline and phase = p_phase.name and state = 'queued' and crash_count < 2
            order by priority desc, vtime, id
            -- Where some had to be parked there may be many more.
            limit case round when 1 then p_limit else greatest(p_limit, 1000) end
            for update skip locked
        );
        v_parked := '{}';
        v_passed_over := '{}';
        if v_holds_exist then
            select p.parked, p.passed_over into v_parked, v_passed_over from park(v_found, p_phase, p_now) p;
        end if;
        -- What is not parked still stands at the front, so a later round finds it again.
        v_jobs := array(
            select f.id from unnest(v_found) with ordinality as f(id, n)
            where f.id <> all (v_parked || v_passed_over) order by f.n limit p_limit
        );
        exit when v_parked = '{}' or cardinality(v_jobs) = p_limit;
    end loop;
    if v_suspect.id is null then
        return v_jobs;
    end if;
    -- A suspect has its turn like everyone: in a lane that is full it takes the place of the last whom it stands before.
    if cardinality(v_jobs) = p_limit then
        select * into v_last from pipeline_job where id = v_jobs[p_limit];
    end if;
    if v_last.id is null or stands_before(v_suspect, v_last) then
        v_found := pick_suspect(p_phase, p_worker, v_last, p_now);
        v_jobs := v_jobs[:p_limit - cardinality(v_found)] || v_found;
    end if;
    return v_jobs;
end $$;

-- The order of claims.
create or replace function holdfast.stands_before(p_one holdfast.pipeline_job, p_other holdfast.pipeline_job) returns boolean
language sql immutable as $$
    select p_one.priority > p_other.priority
           or p_one.priority = p_other.priority and (p_one.vtime, p_one.id) < (p_other.vtime, p_other.id)
$$;

-- The holds in force that keep jobs of a phase from being claimed: of these organisations, or of all. A hold on a shared
-- budget does not concern an organisation that has a budget of its own.
create or replace function holdfast.holds_on(p_phase holdfast.phase, p_organisations text[], p_now timestamptz)
returns setof holdfast.hold
language sql stable set search_path = holdfast, pg_temp set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
    select h.* from hold h
    where h.drained_at is null and h.organisation = any (p_organisations)
      and h.released_at is null and h.until > p_now
      and (h.provider is null or h.provider = p_phase.provider) and (h.budget is null or h.budget = p_phase.budget)
      and (h.pipeline is null or h.pipeline = p_phase.pipeline) and (h.phase is null or h.phase = p_phase.name)
    union all
    select h.* from hold h
    where h.drained_at is null and h.organisation is null
      and h.released_at is null and h.until > p_now
      and (h.provider is null or h.provider = p_phase.provider) and (h.budget is null or h.budget = p_phase.budget)
      and (h.pipeline is null or h.pipeline = p_phase.pipeline) and (h.phase is null or h.phase = p_phase.name)
$$;

-- Whether a phase is held for everyone.
create or replace function holdfast.is_held(p_phase holdfast.phase, p_now timestamptz) returns boolean
language sql stable set search_path = holdfast, pg_temp as $$
    select exists (
        select from holds_on(p_phase, '{}', p_now) h
        where not exists (select from budget b where b.name = h.budget and b.organisation is not null))
$$;

-- Moves those of the locked jobs whose organisation is held to "held". A claim waits for no hold: nobody who holds one may
-- wait for it in turn. Jobs behind a hold that is being changed in this moment are passed over, and the next claim sees.
create or replace function holdfast.park(
    p_jobs bigint[], p_phase holdfast.phase, p_now timestamptz, out parked bigint[], out passed_over bigint[]
)
language plpgsql set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
declare
    v_organisations text[] := array(select distinct organisation from pipeline_job where id = any (p_jobs));
    v_holds bigint[] := array(select h.id from holds_on(p_phase, v_organisations, p_now) h);
    v_shared bigint[];
begin
    parked := '{}';
    passed_over := '{}';
    if v_holds = '{}' then
        return;
    end if;
    v_shared := array(
        select h.id from hold h
        where h.id = any (v_holds) and h.drained_at is null and h.released_at is null and h.until > p_now
        for share skip locked
    );
    with held as (
        update pipeline_job j
        set state = 'held', hold_id = h.id
        from hold h
        where j.id = any (p_jobs) and h.id = any (v_shared) and is_behind(j, h)
        returning j.id
    )
    select coalesce(array_agg(id), '{}') into parked from held;
    passed_over := array(
        select j.id from pipeline_job j
        join hold h on h.id = any (v_holds) and h.id <> all (v_shared) and is_behind(j, h)
        where j.id = any (p_jobs) and j.id <> all (parked)
    );
end $$;

-- Whether a hold on its phase keeps a job: a hold on a shared budget does not concern an organisation that has its own.
create or replace function holdfast.is_behind(p_job holdfast.pipeline_job, p_hold holdfast.hold) returns boolean
language sql stable set search_path = holdfast, pg_temp as $$
    select p_hold.organisation = p_job.organisation
        or p_hold.organisation is null
           and not exists (select from budget b where b.name = p_hold.budget and b.organisation = p_job.organisation)
$$;

-- One job that was in flight when workers died, unless this worker runs such a one already; before another, if one is named.
create or replace function holdfast.pick_suspect(
    p_phase holdfast.phase, p_worker text, p_before holdfast.pipeline_job, p_now timestamptz
) returns bigint[]
language sql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_sort = off set enable_bitmapscan = off set jit = off as $$
    select array(
        select s.id from pipeline_job s
        where s.pipeline = p_phase.pipeline and s.phase = p_phase.name and s.state = 'queued' and s.crash_count >= 2
          and s.priority >= coalesce(p_before.priority, -32768) and (p_before.id is null or stands_before(s, p_before))
          and not exists (select from pipeline_job w where w.worker_id = p_worker and w.state = 'working' and w.crash_count >= 2)
          and not exists (
              select from holds_on(p_phase, array[s.organisation], p_now) h
              where h.organisation is not null
                 or not exists (select from budget b where b.name = h.budget and b.organisation = s.organisation))
        order by s.priority desc, s.vtime, s.id
        limit 1
        for update skip locked
    )
$$;
