-- Reopens failed, dead-lettered, cancelled or held jobs at the phase that failed, or at an earlier one: then this and the later phases
-- run again as a new run. Finished phases before it are never run again. Counters start anew. Audited.
-- Answers a row per job: queued, or why not.
create or replace function holdfast.retry(
    p_jobs bigint[], p_phase text default null, p_actor text default holdfast.actor(), p_reason text default null
) returns table (job_id bigint, result text)
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_column
begin
    perform lock_for_transition(p_jobs);
    foreach job_id in array array(select distinct unnest(p_jobs) order by 1) loop
        result := reopen(job_id, 'retry', p_phase, p_actor, p_reason);
        return next;
    end loop;
    perform wake();
end $$;

-- Starts failed, dead-lettered, cancelled or held jobs over from their first phase, as a new run, and clears their documents' failures. Audited.
create or replace function holdfast.reset(
    p_jobs bigint[], p_actor text default holdfast.actor(), p_reason text default null
) returns table (job_id bigint, result text)
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_column
begin
    perform lock_for_transition(p_jobs);
    foreach job_id in array array(select distinct unnest(p_jobs) order by 1) loop
        result := reopen(job_id, 'reset', null, p_actor, p_reason);
        return next;
    end loop;
    perform wake();
end $$;

-- Opens one job again and says what became of it. The caller has locked it and its document: else another job of the document
-- might come to life, or the document go, behind this one's back.
create or replace function holdfast.reopen(p_job_id bigint, p_action text, p_phase text, p_actor text, p_reason text) returns text
language plpgsql set search_path = holdfast, pg_temp as $$
declare
    v_job pipeline_job;
    v_current phase;
    v_target phase;
    v_runs_again boolean;
begin
    select * into v_job from pipeline_job where id = p_job_id;
    if not found or not is_own(v_job.organisation) then
        return 'not_found';
    elsif v_job.flow = 'old' then
        return 'old_flow';
    elsif v_job.state = 'done' then
        return 'already_completed';
    elsif v_job.state not in ('failed', 'deadletter', 'cancelled', 'held') then
        return 'is_' || v_job.state;
    elsif exists (select from document d where d.id = v_job.document_id and d.deleted_at is not null) then
        return 'document_was_deleted';
    elsif exists (select from pipeline_job o where o.document_id = v_job.document_id and o.pipeline = v_job.pipeline
                  and o.id <> v_job.id and o.state not in ('done', 'deadletter', 'cancelled')) then
        return 'document_has_another_live_job';
    end if;
    select * into v_current from phase where pipeline = v_job.pipeline and name = v_job.phase;
    if p_action = 'reset' then
        v_target := first_phase(v_job.pipeline);
    else
        select * into v_target from phase where pipeline = v_job.pipeline and name = coalesce(p_phase, v_job.phase);
        if not found or (p_phase is not null and v_target.retired_at is not null) then
            return 'no_such_phase';
        elsif v_target.position > v_current.position then
            return 'phase_not_reached';
        end if;
    end if;
    v_runs_again := p_action = 'reset' or v_target.name <> v_current.name;
    update pipeline_job
    set state = 'queued', phase = v_target.name, status = v_target.resumes_from, run = run + v_runs_again::integer,
        input = case when v_runs_again then input_of(v_job, v_target) else input end,
        retry_count = 0, crash_count = 0, ready_at = null, hold_id = null, finished_at = null,
        last_retry_at = clock(), retry_reason = p_action, queued_at = clock(),
        retried_phase_id = case when v_runs_again then null else retried_phase_id end,
        audit_id = audit(p_actor, p_action, v_job, p_reason,
                         jsonb_build_object('state', 'queued', 'phase', v_target.name, 'run', run + v_runs_again::integer))
    where id = p_job_id;
    update document set failure_state = null, failure_count = 0, failures = '{}', last_failure = null, cool_down_until = null
    where id = v_job.document_id and (failure_state = 'permanent_failure' or p_action = 'reset');
    return 'queued';
end $$;

-- What a phase gets as its input: the newest output of the phases before it, or what the job was submitted with.
create or replace function holdfast.input_of(p_job holdfast.pipeline_job, p_target holdfast.phase) returns jsonb
language sql stable set search_path = holdfast, pg_temp as $$
    select case when exists (select from pipeline_phase a where a.job_id = p_job.id and a.phase = p_target.name)
                then (select a.input from pipeline_phase a
                      where a.job_id = p_job.id and a.phase = p_target.name order by a.id desc limit 1)
                else p_job.input end
$$;
