-- Cancels jobs, waiting or running; a running attempt ends as cancelled and its worker is told. Audited.
-- Answers a row per job with what became of it: cancelled, or why not. Whoever cancels many names some hundred at a time.
create or replace function holdfast.cancel(
    p_jobs bigint[], p_actor text default holdfast.actor(), p_reason text default null
) returns table (job_id bigint, result text)
language plpgsql security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_column
declare
    v_job pipeline_job;
    v_attempt bigint;
    v_cost numeric;
    v_cancelled bigint[] := '{}';
begin
    perform lock_for_transition(p_jobs);
    foreach job_id in array array(select distinct unnest(p_jobs) order by 1) loop
        select * into v_job from pipeline_job j where j.id = job_id;
        if not found or not is_own(v_job.organisation) then
            result := 'not_found';
        elsif v_job.flow = 'old' then
            result := 'old_flow';
        elsif v_job.state in ('done', 'deadletter', 'cancelled') then
            result := 'is_' || v_job.state;
        else
            v_attempt := v_job.retried_phase_id;
            v_cost := 0;
            if v_job.state = 'working' then
                v_cost := known_cost(v_job);
                v_attempt := record_attempt(v_job, 'cancelled', clock(), null, (
                    select told_cost_unknown(jsonb_build_object(
                        'category', 'cancelled', 'error', coalesce(p_reason, 'cancelled by ' || p_actor)), p)
                    from phase p where p.pipeline = v_job.pipeline and p.name = v_job.phase), v_cost);
                perform settle_entry(v_job.id, v_job.token, null);
                perform pg_notify('holdfast', format('dropped %s %s', v_job.id, v_job.token));
            end if;
            update pipeline_job
            set state = 'cancelled', worker_id = null, started_at = null, progress = null, progress_at = null, ready_at = null,
                hold_id = null, retried_phase_id = v_attempt, finished_at = clock(), total_cost_usd = total_cost_usd + v_cost,
                audit_id = audit(p_actor, 'cancel', v_job, p_reason, jsonb_build_object('state', 'cancelled'))
            where id = job_id;
            v_cancelled := v_cancelled || v_job.document_id;
            result := 'cancelled';
        end if;
        return next;
    end loop;
    perform wake_parent(p.id)
    from (select distinct d.parent_id as id from document d where d.id = any (v_cancelled)) p;
end $$;
