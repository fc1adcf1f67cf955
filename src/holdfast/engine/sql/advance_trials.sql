-- Goes on with every trial under way: judges the jobs tried first and, when they passed, retries the next batch of the rest. Answers
-- how many jobs it retried, of one trial at a time. Safe at any time, by any number of callers.
create or replace function holdfast.advance_trials() returns bigint
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    c_batch constant integer := 500;
    v_trial trial;
    v_retried bigint := 0;
begin
    for v_trial in select * from trial where ended_at is null order by id for update skip locked loop
        if v_trial.state = 'trying' then
            v_trial := judge_trial(v_trial);
        end if;
        if v_trial.state = 'passed' and v_retried = 0 then
            v_retried := retry_rest(v_trial, c_batch);
        end if;
    end loop;
    return v_retried;
end $$;

-- Ends the waiting when the jobs tried first have shown what becomes of them. The caller holds the trial's row lock.
create or replace function holdfast.judge_trial(p_trial holdfast.trial) returns holdfast.trial
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_verdicts text[];
    v_failure text;
begin
    select array_agg(v.verdict), min(v.failure) into v_verdicts, v_failure from trial_verdicts(p_trial) v;
    if 'failed' = any (v_verdicts) then
        p_trial.state := 'stopped';
        p_trial.why := v_failure;
    elsif 'trying' = any (v_verdicts) then
        return p_trial;
    elsif 'passed' = any (v_verdicts) then
        p_trial.state := 'passed';
    else
        p_trial.state := 'stopped';
        p_trial.why := 'every job that was tried was cancelled';
    end if;
    p_trial.ended_at := case p_trial.state when 'stopped' then clock() end;
    update trial set state = p_trial.state, why = p_trial.why, ended_at = p_trial.ended_at where id = p_trial.id;
    return p_trial;
end $$;

-- What became of each job since it was tried: it got past the phase it had failed in, failed there again, was cancelled, or is still
-- on its way. The first attempt that tells decides; what a lost worker or a hold ended does not.
create or replace function holdfast.trial_verdicts(p_trial holdfast.trial) returns table (job_id bigint, verdict text, failure text)
language sql stable set search_path = holdfast, pg_temp as $$
    select f.job_id, v.verdict,
           case v.verdict when 'failed' then format('job %s failed again in %s: %s', f.job_id, coalesce(a.phase, j.phase),
                                                    coalesce(a.error, j.last_error) ->> 'error') end
    from unnest(p_trial.first_jobs, p_trial.first_tokens) as f(job_id, token)
    left join pipeline_job j on j.id = f.job_id
    left join lateral (
        select p.phase, p.outcome, p.error
        from pipeline_phase p
        where p.job_id = f.job_id and p.token > f.token and p.outcome in ('completed', 'failed', 'timeout')
        order by p.token
        limit 1
    ) a on true
    cross join lateral (
        select case when a.outcome = 'completed' or a.outcome is null and j.state = 'done' then 'passed'
                    when a.outcome is not null or j.state = 'deadletter' then 'failed'
                    when j.id is null or j.state = 'cancelled' then 'cancelled'
                    else 'trying' end as verdict
    ) v
$$;

-- Retries the next jobs of the rest under the name of whoever began the trial: those that match and failed before it. Ends the
-- trial when there are no more. The caller holds the trial's row lock.
create or replace function holdfast.retry_rest(p_trial holdfast.trial, p_batch integer) returns bigint
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_matching bigint[] := array(select trial_jobs(p_trial.filter, p_trial.reached, p_batch));
    v_failed bigint[] := array(
        -- Locked, so that nobody else changes their mind about them meanwhile.
        select j.id from pipeline_job j
        where j.id = any (v_matching) and j.state in ('failed', 'deadletter')
          and (j.last_error ->> 'failed_at')::timestamptz < p_trial.created_at
        order by j.id
        for update
    );
    v_retried bigint;
begin
    select count(*) filter (where r.result = 'queued') into v_retried
    from retry(v_failed, null, p_trial.created_by, concat_ws(': ', format('trial %s passed', p_trial.id), p_trial.reason)) r;
    update trial
    set reached = greatest(reached, v_matching[cardinality(v_matching)]), retried = retried + v_retried,
        ended_at = case when cardinality(v_matching) < p_batch then clock() end
    where id = p_trial.id;
    return v_retried;
end $$;
