-- The one place where a failure changes things: attempt, job, document counters, hold, money, error log and notice, together.
-- The caller holds the job's row lock. p_outcome is failed, timeout or lost. Returns the job's new state.
create or replace function holdfast.end_failed(p_job holdfast.pipeline_job, p_outcome text, p_failure jsonb) returns text
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    c_crash_cap constant integer := 3;
    v_now timestamptz := clock();
    v_category text := coalesce(p_failure ->> 'category', 'unknown');
    v_cost numeric := coalesce((p_failure ->> 'cost_usd')::numeric, known_cost(p_job));
    v_crashes integer := p_job.crash_count + (p_outcome = 'lost')::integer;
    v_phase phase;
    v_decision record;
    v_error jsonb;
    v_attempt bigint;
    v_hold bigint;
    v_retry_at timestamptz;
    v_state text;
begin
    select * into v_phase from phase where pipeline = p_job.pipeline and name = p_job.phase;
    v_phase.policy := coalesce(p_job.policy, v_phase.policy);
    -- Locked before it is read, so that failures of several jobs of one document are each counted.
    perform from document where id = p_job.document_id for no key update;
    select d.* into v_decision
    from document o
    cross join lateral decide(v_phase.policy, v_category, p_job.retry_count,
        coalesce((o.failures ->> v_category)::integer, 0), (p_failure ->> 'retry_after_seconds')::double precision) d
    where o.id = p_job.document_id;
    if p_outcome = 'lost' then   -- nobody's failure, whatever the policy says of it
        v_decision.action := case when v_crashes < c_crash_cap then 'requeue' else 'deadletter' end;
        v_decision.charged := false;
        v_decision.holds := null;
    end if;
    if (p_failure -> 'final')::boolean and v_decision.action in ('retry', 'deadletter') then   -- it would only fail again
        v_decision.action := 'fail';
        v_decision.max_retries := 0;
    end if;
    v_state := case v_decision.action when 'hold' then 'held' when 'requeue' then 'queued'
                                      when 'deadletter' then 'deadletter' else 'failed' end;
    if v_decision.action = 'retry' then
        v_retry_at := v_now + make_interval(secs => v_decision.wait_seconds);
    end if;
    -- Where no cost is named (lost, out of time) nobody knows what was spent: the reservation counts as spent, so the limit
    -- holds for certain.
    -- Before any hold is placed: everyone locks a budget's day first and its hold second.
    perform settle_entry(p_job.id, p_job.token, (p_failure ->> 'cost_usd')::numeric);
    if v_decision.holds = 'document' then
        v_retry_at := v_now + make_interval(secs => v_decision.hold_seconds);
    elsif v_decision.holds is not null then
        v_hold := hold_for_failure(p_job, v_phase, v_decision.holds, v_decision.hold_seconds, p_failure);
        if v_state = 'held' then
            v_retry_at := (select nullif(until, 'infinity') from hold where id = v_hold);
        end if;
    end if;
    v_error := error_of(p_job, v_phase.component, p_outcome, v_decision.action, v_decision.max_retries, v_retry_at,
        case when p_failure ->> 'cost_usd' is null then told_cost_unknown(p_failure, v_phase) else p_failure end);
    v_attempt := record_attempt(p_job,
        case when v_state = 'held' then 'released' when p_outcome = 'timeout' and v_decision.action in ('fail', 'deadletter') then 'failed'
             else p_outcome end, v_now, null, v_error, v_cost);
    update pipeline_job
    set state = v_state,
        status = case when v_state in ('held', 'queued') then v_phase.queued_status else status end,
        worker_id = null, started_at = null, progress = null, progress_at = null,
        ready_at = case when v_state = 'failed' or v_decision.holds = 'document' then v_retry_at end,
        hold_id = case when v_state = 'held' then v_hold end,
        retry_count = retry_count + (v_decision.action = 'retry')::integer,
        max_retries = v_decision.max_retries, crash_count = v_crashes, retry_reason = v_category,
        error_code = v_error ->> 'error_code', error_meta = v_error -> 'details', last_error = v_error,
        retried_phase_id = v_attempt, total_cost_usd = total_cost_usd + v_cost,
        queued_at = case when v_state = 'queued' then v_now else queued_at end,
        finished_at = case when v_state = 'deadletter' then v_now end
    where id = p_job.id;
    if v_decision.charged and exists (select from policy where name = v_phase.policy and two_level) then
        perform count_failure(p_job.document_id, v_category, v_decision.document_permanent,
                              v_now + make_interval(secs => v_decision.wait_seconds), v_error);
    end if;
    perform log_error(p_job, v_error, v_decision.charged);
    if v_state = 'deadletter' or v_decision.action = 'fail' then   -- no retry comes by itself
        perform announce_jobs('job.' || v_state, array[p_job.id]);
        perform wake_parent((select parent_id from document where id = p_job.document_id));
    end if;
    if v_state = 'queued' then
        perform wake();
    end if;
    return v_state;
end $$;

-- The one shape of last_error.
create or replace function holdfast.error_of(
    p_job holdfast.pipeline_job, p_component text, p_outcome text, p_action text, p_max_retries integer,
    p_retry_at timestamptz, p_failure jsonb
) returns jsonb
language sql set search_path = holdfast, pg_temp as $$
    select jsonb_build_object(
        'component', coalesce(p_failure ->> 'component', p_component, 'unknown'),
        'category', coalesce(p_failure ->> 'category', 'unknown'),
        'error', coalesce(left(p_failure ->> 'error', 1000), 'no message'),
        'error_type', p_failure ->> 'error_type',
        'error_code', case
            when p_outcome = 'timeout' and p_action in ('deadletter', 'fail') then 'TIMEOUT_MAX_RETRIES'
            when p_outcome = 'timeout' then 'TIMEOUT'
            else coalesce(p_failure ->> 'error_code', upper(coalesce(p_failure ->> 'category', 'unknown'))) end,
        'failed_at', clock(),
        'correlation_id', coalesce(p_failure ->> 'correlation_id', p_job.id || '-' || p_job.token),
        'retry_count', p_job.retry_count,
        'max_retries', p_max_retries,
        'retryable', p_action in ('retry', 'requeue', 'hold'),
        'details', coalesce(nullif(p_failure -> 'details', 'null'), '{}')
    ) || case when p_retry_at is null then '{}' else jsonb_build_object('retry_at', p_retry_at) end
$$;

-- Counts a failure on its document, across jobs. Atomic: the row lock makes concurrent failures count one by one.
create or replace function holdfast.count_failure(
    p_document bigint, p_category text, p_permanent boolean, p_cool_down_until timestamptz, p_error jsonb
) returns void
language sql set search_path = holdfast, pg_temp as $$
    update document
    set failure_count = failure_count + 1,
        failures = failures || jsonb_build_object(p_category, coalesce((failures ->> p_category)::integer, 0) + 1),
        failure_state = case when p_permanent or failure_state = 'permanent_failure' then 'permanent_failure' else 'pending' end,
        last_failure = p_error,
        cool_down_until = case when not p_permanent then p_cool_down_until end
    where id = p_document
$$;

-- Holds what a failure says nobody can use now: a provider (for that organisation), or a budget until the day that refused is
-- over. Both are those of the worker that had the job.
create or replace function holdfast.hold_for_failure(
    p_job holdfast.pipeline_job, p_phase holdfast.phase, p_holds text, p_seconds double precision, p_failure jsonb
) returns bigint
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_phase phase := as_served(p_phase, (select lanes from worker where id = p_job.worker_id));
    v_budget budget := budget_for(v_phase.budget, p_job.organisation);
    v_reason text := coalesce(p_failure ->> 'category', 'unknown') || ': ' || coalesce(p_failure ->> 'error', 'no message');
    v_needs jsonb := p_failure -> 'details' -> 'needs_usd';
    v_needs_usd numeric := case when jsonb_typeof(v_needs) = 'number' then v_needs::numeric end;
    -- Silent, because what a handler made up need not be a moment, and its failure is recorded all the same. The day that
    -- refused ended after the attempt began.
    v_resets_at timestamptz := jsonb_path_query_first_tz(
        p_failure, '$.details.resets_at.datetime() ? (@.type() == "timestamp with time zone")', silent => true) #>> '{}';
begin
    if p_holds = 'budget_day' and v_budget.id is not null then
        return place_hold(null, v_budget.organisation, null, null, v_budget.name,
                          case when budget_allows(v_budget, v_needs_usd) then clock()
                               when v_resets_at > p_job.started_at then least(next_budget_day(v_budget), v_resets_at)
                               else next_budget_day(v_budget) end,
                          v_reason, 'policy', v_needs_usd);
    end if;
    return place_hold(
        v_phase.provider, p_job.organisation,
        case when v_phase.provider is null then p_job.pipeline end, case when v_phase.provider is null then p_job.phase end, null,
        case p_holds when 'release' then 'infinity' when 'budget_day' then date_trunc('day', clock(), 'UTC') + interval '1 day'
                     else clock() + make_interval(secs => p_seconds) end,
        v_reason, 'policy');
end $$;
