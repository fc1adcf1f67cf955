-- Ends attempts that handed their work to a provider who will call back: each ends as released, with what it cost, and its
-- job waits, without a worker, for the answer or the deadline. An answer that came first is found: the job goes on at once.
-- Items: job_id, token, provider, reference (by which the provider names it), within_seconds, cost_usd.
-- result: awaits; answered (it came first); already and stale as for settle.
create or replace function holdfast.await_answers(p_items jsonb)
returns table (job_id bigint, token bigint, result text)
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_item record;
    v_job pipeline_job;
    v_token bigint;
begin
    perform refuse_bad_costs(p_items);
    perform refuse_bad_asks(p_items);
    perform lock_for_endings(p_items);
    for v_item in
        select i.*
        from jsonb_to_recordset(p_items)
             as i(job_id bigint, token bigint, provider text, reference text, within_seconds double precision, cost_usd numeric)
        order by i.job_id
    loop
        job_id := v_item.job_id;
        token := v_item.token;
        v_token := token;
        v_job := claimed_job(job_id, v_token);
        if v_job.id is null then
            v_token := coalesce(late_token(job_id, token, coalesce(v_item.cost_usd, 0)), token);
            v_job := claimed_job(job_id, v_token);
        end if;
        if v_job.id is not null then
            result := begin_waiting(v_job, v_item.provider, v_item.reference, v_item.within_seconds, coalesce(v_item.cost_usd, 0));
        else
            result := case when exists (select from pipeline_phase a where a.job_id = v_item.job_id and a.token = v_token
                                        and a.category = 'awaits') then 'already' else 'stale' end;
        end if;
        return next;
    end loop;
end $$;

-- Ends one attempt as released and has its job wait. The caller holds the job's row lock.
create or replace function holdfast.begin_waiting(
    p_job holdfast.pipeline_job, p_provider text, p_reference text, p_within_seconds double precision, p_cost_usd numeric
) returns text
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_now timestamptz := clock();
    v_deadline timestamptz := v_now + make_interval(secs => p_within_seconds);
    v_answered boolean := expect_answer(p_job, p_provider, p_reference, v_now, v_deadline);
    v_attempt bigint := record_attempt(p_job, 'released', v_now, null, jsonb_build_object(
        'category', 'awaits', 'error', format('handed over to %s, who will answer to %s', p_provider, p_reference),
        'provider', p_provider), p_cost_usd);
begin
    update pipeline_job j
    set state = case when v_answered then 'queued' else 'held' end, ready_at = case when not v_answered then v_deadline end,
        status = p.queued_status, worker_id = null, started_at = null, progress = null, progress_at = null,
        queued_at = v_now, retried_phase_id = v_attempt, total_cost_usd = total_cost_usd + p_cost_usd
    from phase p
    where j.id = p_job.id and p.pipeline = j.pipeline and p.name = j.phase;
    perform settle_entry(p_job.id, p_job.token, p_cost_usd);
    if v_answered then
        perform wake();
    end if;
    return case when v_answered then 'answered' else 'awaits' end;
end $$;

-- Puts on record what a job waits for, and says whether the answer is there. A job may ask again under the same reference, as
-- providers that know a request by its key have it: a success it was answered stands, a failure is waited out.
create or replace function holdfast.expect_answer(
    p_job holdfast.pipeline_job, p_provider text, p_reference text, p_asked_at timestamptz, p_deadline timestamptz
) returns boolean
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_answered boolean;
begin
    insert into awaited_answer as w (provider, reference, job_id, token, run, phase, asked_at, deadline)
    values (p_provider, p_reference, p_job.id, p_job.token, p_job.run, p_job.phase, p_asked_at, p_deadline)
    on conflict (provider, reference) do update
    set job_id = excluded.job_id, token = excluded.token, run = excluded.run, phase = excluded.phase,
        asked_at = excluded.asked_at, deadline = excluded.deadline,
        outcome = case when is_spent(w) then null else w.outcome end,
        body = case when is_spent(w) then null else w.body end,
        answered_at = case when is_spent(w) then null else w.answered_at end
    where w.job_id is null or w.job_id = excluded.job_id
    returning w.answered_at is not null into v_answered;
    if not found then
        raise exception 'another job waits for the answer of % to "%": a reference belongs to one job', p_provider, p_reference
            using errcode = 'HF409';
    end if;
    return v_answered;
end $$;

-- Whether an answer says nothing to whoever asks again: a failure that was reported to this job before.
create or replace function holdfast.is_spent(p_awaited holdfast.awaited_answer) returns boolean
language sql immutable as $$ select p_awaited.job_id is not null and p_awaited.outcome is not distinct from 'failed' $$;

-- Refuses an ask that nobody could answer before anything is written.
create or replace function holdfast.refuse_bad_asks(p_items jsonb) returns void
language plpgsql immutable as $$
begin
    if exists (
        select from jsonb_to_recordset(p_items) as i(provider text, reference text, within_seconds double precision)
        where (length(i.provider) between 1 and 63 and length(i.reference) between 1 and 255
               and i.within_seconds > 0 and i.within_seconds <= 366 * 86400) is not true
    ) then
        raise exception 'an ask names no provider (63 characters at most), no reference (255) or no time within a year'
            using errcode = 'HF400';
    end if;
end $$;
