-- Takes up again an attempt that was taken from its worker, under a new token, unless someone has claimed its job since or an
-- operator has moved it on. One that an operator took back may only end (no p_worker): it is not to be worked on.
-- What was counted as its cost and its crash is taken back: it goes on, and will end by itself.
-- Returns the token, or null. Locks the job. Its money stays counted as spent until reopen_resumed().
create or replace function holdfast.resume_attempt(p_job_id bigint, p_token bigint, p_worker text default null) returns bigint
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_job pipeline_job;
    v_lost pipeline_phase;
begin
    select * into v_job from pipeline_job where id = p_job_id and token = p_token and state in ('queued', 'held', 'deadletter')
    for update;
    if not found then
        return null;
    end if;
    select * into v_lost from pipeline_phase
    where job_id = p_job_id and token = p_token and was_taken_away(pipeline_phase) and (outcome = 'lost' or p_worker is null)
      and (run, phase, id) = (v_job.run, v_job.phase, v_job.retried_phase_id)
      and error -> 'details' -> 'cost_is_known' is distinct from 'true';   -- else it has told how it ended
    if not found or exists (select from document d where d.id = v_job.document_id and d.deleted_at is not null) then
        return null;
    end if;
    if v_job.state = 'deadletter' then
        if exists (select from pipeline_job o where o.document_id = v_job.document_id and o.pipeline = v_job.pipeline
                   and o.state not in ('done', 'deadletter', 'cancelled')) then
            return null;
        end if;
        update pipeline_job
        set state = 'queued', finished_at = null,
            audit_id = audit('holdfast', 'resume', v_job, 'its worker came back', jsonb_build_object('state', 'working'))
        where id = p_job_id;
    elsif v_job.state = 'held' then
        update pipeline_job set state = 'queued', hold_id = null, ready_at = null where id = p_job_id;
    end if;
    update pipeline_job j
    set state = 'working', status = p.working_status, token = j.token + 1, worker_id = coalesce(p_worker, v_lost.worker_id),
        started_at = v_lost.started_at, progress_at = clock(), crash_count = greatest(j.crash_count - (v_lost.outcome = 'lost')::integer, 0),
        total_cost_usd = j.total_cost_usd - v_lost.cost_usd
    from phase p
    where j.id = p_job_id and p.pipeline = j.pipeline and p.name = j.phase;
    update pipeline_phase
    set cost_usd = 0,
        error = jsonb_set(error, '{details}', coalesce(error -> 'details', '{}') - 'cost_is_known' || jsonb_build_object('resumed_as', p_token + 1))
    where id = v_lost.id;
    update paid_answer set token = p_token + 1
    where document_id = v_job.document_id and job_id = p_job_id and token = p_token;
    return p_token + 1;
end $$;

-- The same for all that a worker names: [{job_id, token, new_token}] of those that go on under another token. Waits for no job:
-- one that is locked ("busy") is perhaps being settled by this very worker, and its save may take long.
create or replace function holdfast.resume_attempts(p_worker text, p_jobs jsonb, out renewed jsonb, out busy bigint[])
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_handle record;
    v_token bigint;
    v_waiting bigint[] := array(
        select i.job_id
        from jsonb_to_recordset(p_jobs) as i(job_id bigint)
        join pipeline_job j on j.id = i.job_id
        where (j.state in ('queued', 'held', 'deadletter')) is true);
    v_locked bigint[] := '{}';
begin
    renewed := '[]';
    if v_waiting <> '{}' then
        v_locked := array(select id from pipeline_job where id = any (v_waiting) order by id for update skip locked);
        perform from budget_day d
        join (select distinct e.budget_id, e.day
              from pipeline_job j join budget_entry e on e.job_id = j.id and e.token = j.token
              where j.id = any (v_locked)) t on t.budget_id = d.budget_id and t.day = d.day
        order by d.budget_id, d.day
        for update of d;
    end if;
    busy := array(select unnest(v_waiting) except select unnest(v_locked));
    for v_handle in
        select i.job_id, i.token
        from jsonb_to_recordset(p_jobs) as i(job_id bigint, token bigint)
        join pipeline_job j on j.id = i.job_id
        where (j.state = 'working' and j.token = i.token) is not true
        order by i.job_id
    loop
        v_token := coalesce(token_after(v_handle.job_id, v_handle.token), v_handle.token);
        if v_handle.job_id = any (v_locked) then
            v_token := coalesce(resume_attempt(v_handle.job_id, v_token, p_worker), v_token);
            perform reopen_resumed(v_handle.job_id, v_token);
        end if;
        if exists (select from pipeline_job where id = v_handle.job_id and token = v_token and state = 'working') then
            renewed := renewed || jsonb_build_object('job_id', v_handle.job_id, 'token', v_handle.token, 'new_token', v_token);
        end if;
    end loop;
end $$;

-- The token under which an attempt that was taken from its worker goes on; null when it does not.
create or replace function holdfast.token_after(p_job_id bigint, p_token bigint) returns bigint
language sql stable set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
    with recursive chain as (
        select p_token as token, 0 as steps
        union all
        select (a.error -> 'details' ->> 'resumed_as')::bigint, c.steps + 1
        from chain c
        join pipeline_phase a on a.job_id = p_job_id and a.token = c.token
        where a.error -> 'details' ? 'resumed_as'
    )
    select token from chain where steps > 0 order by steps desc limit 1
$$;

-- The token that decides about an ending which comes late: its attempt was taken from its worker, and nobody has claimed the job
-- since, or the ending was recorded under that token before. Otherwise null, and what the attempt cost is recorded all the same.
create or replace function holdfast.late_token(p_job_id bigint, p_token bigint, p_cost_usd numeric) returns bigint
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_token bigint := resumed_token(p_job_id, p_token, p_cost_usd);
begin
    perform reopen_resumed(p_job_id, v_token);
    return v_token;
end $$;

-- The same, but the money of an attempt that goes on is not reopened yet: its budget is locked for nobody.
create or replace function holdfast.resumed_token(p_job_id bigint, p_token bigint, p_cost_usd numeric) returns bigint
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_token bigint := coalesce(token_after(p_job_id, p_token), p_token);
    v_resumed bigint := resume_attempt(p_job_id, v_token);
begin
    if v_resumed is not null then
        return v_resumed;
    elsif v_token = p_token or exists (select from pipeline_phase a where a.job_id = p_job_id and a.token = v_token and was_taken_away(a)) then
        perform learn_cost(p_job_id, v_token, p_cost_usd);
        return null;
    end if;
    return v_token;
end $$;

-- Records what an attempt cost that ended without anyone knowing. Once: what is known stays. Null says nothing.
create or replace function holdfast.learn_cost(p_job_id bigint, p_token bigint, p_cost_usd numeric) returns void
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_attempt pipeline_phase;
    v_cost numeric;
begin
    if p_cost_usd is null then
        return;
    end if;
    perform from pipeline_job where id = p_job_id for update;
    select * into v_attempt from pipeline_phase
    where job_id = p_job_id and token = p_token
    for update;
    if not found or not may_become_known(v_attempt) then
        return;
    end if;
    v_cost := greatest(v_attempt.cost_usd, p_cost_usd);
    update pipeline_phase
    set cost_usd = v_cost,
        error = jsonb_set(error, '{details}', coalesce(error -> 'details', '{}') || '{"cost_is_known": true}')
    where id = v_attempt.id;
    update pipeline_job set total_cost_usd = total_cost_usd - v_attempt.cost_usd + v_cost where id = p_job_id;
    perform reopen_entry(p_job_id, p_token, p_token);
    perform settle_entry(p_job_id, p_token, v_cost);
end $$;

-- Counts as reserved again what an attempt was taken to have spent that goes on under this token, unless that was done before.
create or replace function holdfast.reopen_resumed(p_job_id bigint, p_token bigint) returns void
language sql set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
    select reopen_entry(p_job_id, a.token, p_token)
    from pipeline_phase a
    where a.job_id = p_job_id and a.token = p_token - 1
      and a.error -> 'details' -> 'resumed_as' = to_jsonb(p_token)
$$;

-- Counts as reserved again, under that token, what was counted as spent because nobody knew.
create or replace function holdfast.reopen_entry(p_job_id bigint, p_token bigint, p_new_token bigint) returns void
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_entry budget_entry;
begin
    select * into v_entry from budget_entry where job_id = p_job_id and token = p_token for update;
    if not found then
        return;
    end if;
    update budget_day
    set spent_usd = spent_usd - v_entry.spent_usd, reserved_usd = reserved_usd + v_entry.spent_usd,
        overrun_usd = overrun_usd - v_entry.overrun_usd
    where budget_id = v_entry.budget_id and day = v_entry.day;
    update budget_entry
    set token = p_new_token, reserved_usd = reserved_usd + v_entry.spent_usd, spent_usd = 0, overrun_usd = 0, settled_at = null
    where job_id = p_job_id and token = p_token;
end $$;
