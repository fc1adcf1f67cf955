-- Puts back in the queue, in batches, what no longer waits: due retries, cool-downs that are over, jobs of holds that
-- ended. Skips rows locked by others. Returns how many. A retry resumes from the status before the failed phase.
create or replace function holdfast.promote(p_batch integer default 500) returns bigint
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
set enable_bitmapscan = off set jit = off as $$
declare
    v_now timestamptz := clock();
    v_due bigint[];
    v_hold bigint;
    v_waiting bigint[];
    v_count bigint := 0;
begin
    v_due := array(
        select id from pipeline_job
        where state in ('failed', 'held') and ready_at is not null and ready_at <= v_now
        order by ready_at
        limit p_batch
        for update skip locked
    );
    if v_due <> '{}' then
        perform requeue(v_due, v_now);
        v_count := cardinality(v_due);
    end if;
    for v_hold in
        select id from hold
        where drained_at is null and case when released_at is null then until else '-infinity' end <= v_now
        for update skip locked
    loop
        v_waiting := array(
            select id from pipeline_job
            where hold_id = v_hold and state = 'held'
            limit p_batch
            for update skip locked
        );
        perform requeue(v_waiting, v_now);
        v_count := v_count + cardinality(v_waiting);
        if cardinality(v_waiting) < p_batch
           and not exists (select from pipeline_job where hold_id = v_hold and state = 'held') then
            update hold set drained_at = v_now where id = v_hold;
        end if;
    end loop;
    return v_count;
end $$;

-- Moves locked, waiting jobs to the queue.
create or replace function holdfast.requeue(p_jobs bigint[], p_now timestamptz) returns void
language sql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    update pipeline_job j
    set state = 'queued',
        status = case when j.state = 'failed' then p.resumes_from else j.status end,
        last_retry_at = case when j.state = 'failed' then p_now else j.last_retry_at end,
        ready_at = null, hold_id = null, queued_at = p_now
    from phase p
    where j.id = any (p_jobs) and p.pipeline = j.pipeline and p.name = j.phase
$$;
