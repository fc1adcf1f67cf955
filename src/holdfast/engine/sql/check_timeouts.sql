-- Ends attempts that passed their phase's time limit, as a failure of category "timeout", some hundred a call. Safe at any
-- time, by any number of callers: rows locked by others are skipped, and the next call takes them.
-- With a lease: a worker that is alive watches its own limits, and does not count the time in which it could not say what
-- it has; so its attempts end here only when it has been in touch for a whole limit, and a lease after that, in which it would
-- have said that they ended. The silent ones are the sweep's. What has ended and waits to be written ends nowhere here.
create or replace function holdfast.check_timeouts(
    p_lease_seconds double precision default null, out updated_count bigint, out updated_jobs bigint[], out more boolean
)
language plpgsql security definer set search_path = holdfast, pg_temp set lock_timeout = '2s' as $$
declare
    c_batch constant integer := 200;
    v_now timestamptz := clock();
    v_job pipeline_job;
    v_limit double precision;
begin
    updated_jobs := '{}';
    for v_job in
        select * from lock_and_list_jobs(array(
            select j.id from pipeline_job j
            join phase p on p.pipeline = j.pipeline and p.name = j.phase
            join document d on d.id = j.document_id
            where j.state = 'working' and j.started_at + make_interval(secs => p.limit_seconds) < v_now
              and not exists (
                  select from worker w
                  where w.id = j.worker_id and w.stopped_at is null
                    and (w.lost_at is null and j.id = any (w.ended_jobs)
                         or p_lease_seconds is not null
                            and (w.lost_at is not null
                                 or j.started_at + make_interval(secs => p.limit_seconds + p_lease_seconds) > v_now
                                 or w.in_touch_since + make_interval(secs => p.limit_seconds) > v_now
                                 or w.seen_at < v_now - make_interval(secs => p_lease_seconds / 2))))
            limit c_batch
            for update of j skip locked
            for no key update of d skip locked
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
    more := updated_count = c_batch;
end $$;
