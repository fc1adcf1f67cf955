-- Cancels jobs, waiting or running; a running attempt ends as cancelled and its worker is told. Audited.
-- Answers a row per job with what became of it: cancelled, or why not.
create or replace function holdfast.cancel(
    p_jobs bigint[], p_actor text default session_user, p_reason text default null
) returns table (job_id bigint, result text)
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_column
declare
    v_job pipeline_job;
    v_attempt bigint;
begin
    foreach job_id in array array(select distinct unnest(p_jobs) order by 1) loop
        select * into v_job from pipeline_job j where j.id = job_id for update;
        if not found or not is_own(v_job.organisation) then
            result := 'not_found';
        elsif v_job.state in ('done', 'deadletter', 'cancelled') then
            result := 'is_' || v_job.state;
        else
            v_attempt := v_job.retried_phase_id;
            if v_job.state = 'working' then
                v_attempt := record_attempt(v_job, 'cancelled', clock(), null, jsonb_build_object(
                    'category', 'cancelled', 'error', coalesce(p_reason, 'cancelled by ' || p_actor)), 0);
                perform settle_entry(v_job.id, v_job.token, null);
                perform pg_notify('holdfast', format('dropped %s %s', v_job.id, v_job.token));
            end if;
            update pipeline_job
            set state = 'cancelled', worker_id = null, started_at = null, progress = null, progress_at = null, ready_at = null,
                hold_id = null, retried_phase_id = v_attempt, finished_at = clock(),
                audit_id = audit(p_actor, 'cancel', v_job, p_reason, jsonb_build_object('state', 'cancelled'))
            where id = job_id;
            result := 'cancelled';
        end if;
        return next;
    end loop;
end $$;
