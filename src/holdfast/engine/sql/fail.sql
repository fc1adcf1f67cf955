-- Ends attempts that failed, as the phase's policy decides: retry later, hold, dead letter, or a permanent failure.
-- Items: job_id, token, category, error, error_type, error_code, details, retry_after_seconds, cost_usd (not named: unknown,
-- and what was reserved counts as spent), component, correlation_id, final (true: no retry comes by itself, whatever the
-- policy says of the category). result: failed, already, stale as for settle; state is where the job stands now.
create or replace function holdfast.fail(p_items jsonb)
returns table (job_id bigint, token bigint, result text, state text, retry_at timestamptz)
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_item jsonb;
    v_job pipeline_job;
    v_token bigint;
begin
    perform refuse_bad_costs(p_items);
    perform lock_for_endings(
        p_items, p_holding => array(
            select holding_jobs(c.jobs, c.category)
            from (select array_agg((i ->> 'job_id')::bigint) as jobs, i ->> 'category' as category
                  from jsonb_array_elements(p_items) i group by 2) c
        ));
    for v_item in
        select i from jsonb_array_elements(p_items) i
        order by (i ->> 'job_id')::bigint
    loop
        job_id := (v_item ->> 'job_id')::bigint;
        token := (v_item ->> 'token')::bigint;
        v_token := token;
        v_job := claimed_job(job_id, v_token);
        if v_job.id is null then
            v_token := coalesce(late_token(job_id, token, (v_item ->> 'cost_usd')::numeric), token);
            v_job := claimed_job(job_id, v_token);
        end if;
        if v_job.id is not null then
            perform end_failed(v_job, case v_item ->> 'category' when 'timeout' then 'timeout' else 'failed' end, v_item);
            result := 'failed';
        else
            result := case when exists (select from pipeline_phase a where a.job_id = fail.job_id and a.token = v_token
                                        and a.outcome in ('failed', 'timeout', 'released')
                                        and not was_taken_away(a)) then 'already' else 'stale' end;
        end if;
        select j.state, j.ready_at into state, retry_at from pipeline_job j where j.id = fail.job_id;
        return next;
    end loop;
end $$;

-- The job that is worked on under this token, locked; null when it is not.
create or replace function holdfast.claimed_job(p_job_id bigint, p_token bigint) returns holdfast.pipeline_job
language sql set search_path = holdfast, pg_temp as $$
    select j.* from pipeline_job j where j.id = p_job_id and j.token = p_token and j.state = 'working' for update
$$;
