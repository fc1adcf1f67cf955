-- Ends every attempt that passed its phase's time limit, as a failure of category "timeout". Safe at any time, by any
-- number of callers: rows locked by others are skipped, and the next call takes them.
create or replace function holdfast.check_timeouts(out updated_count bigint, out updated_jobs bigint[])
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_job pipeline_job;
    v_limit double precision;
begin
    updated_jobs := '{}';
    for v_job in
        select * from lock_and_list_jobs(array(
            select j.id from pipeline_job j
            join phase p on p.pipeline = j.pipeline and p.name = j.phase
            where j.state = 'working' and j.started_at + make_interval(secs => p.limit_seconds) < clock()
            for update of j skip locked
        ), 'timeout')
    loop
        v_limit := (select limit_seconds from phase where pipeline = v_job.pipeline and name = v_job.phase);
        perform end_failed(v_job, 'timeout', jsonb_build_object(
            'category', 'timeout', 'error_type', 'TimedOut',
            'error', format('%s took longer than its limit of %s s', v_job.phase, v_limit),
            'details', jsonb_build_object('threshold_seconds', v_limit)));
        updated_jobs := updated_jobs || v_job.id;
    end loop;
    updated_count := cardinality(updated_jobs);
end $$;
