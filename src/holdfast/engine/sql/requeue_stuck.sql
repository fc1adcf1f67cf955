-- Takes jobs that work but make no progress for that long away from their workers, uncharged, some hundred at once. Audited.
-- Returns them: there may be more unless it returns none.
create or replace function holdfast.requeue_stuck(
    p_stuck_for_minutes integer, p_pipeline text default null, p_phase text default null, p_actor text default holdfast.actor()
) returns setof bigint
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    c_batch constant integer := 500;
    v_job pipeline_job;
    v_stuck bigint[];
begin
    if p_stuck_for_minutes is null or p_stuck_for_minutes < 0 then
        raise exception 'stuck for % minutes makes no sense: name 0 or more', p_stuck_for_minutes using errcode = 'HF400';
    end if;
    -- Asked by itself, so that an unknown name is refused also when nothing works.
    v_stuck := array(select matching_jobs(jsonb_strip_nulls(jsonb_build_object(
        'state', 'working', 'stuck_for_minutes', p_stuck_for_minutes, 'pipeline', p_pipeline, 'phase', p_phase))));
    v_stuck := array(
        select id from pipeline_job
        where id = any (v_stuck) and state = 'working'
          and progress_at < clock() - make_interval(mins => p_stuck_for_minutes)
        limit c_batch
        for update skip locked
    );
    perform lock_for_transition(v_stuck);
    for v_job in select * from pipeline_job where id = any (v_stuck) order by id loop
        -- Its worker may be paying right now, so no cost is named: what was set aside counts as spent.
        perform give_back(jsonb_build_array(jsonb_build_object('job_id', v_job.id, 'token', v_job.token, 'taken_back', true, 'reason',
            format('no progress for %s minutes: taken back by %s', p_stuck_for_minutes, p_actor))));
        perform audit(p_actor, 'requeue_stuck', v_job, null, jsonb_build_object('state', 'queued'));
        perform pg_notify('holdfast', format('dropped %s %s', v_job.id, v_job.token));
        return next v_job.id;
    end loop;
end $$;
