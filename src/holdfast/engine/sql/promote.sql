-- Puts back in the queue what no longer waits: due retries, cool-downs that are over, jobs of holds that ended. So many of each
-- at most: what comes back says whether there may be more. Waits for nobody: rows locked by others are skipped.
-- A retry resumes from the status before the failed phase.
create or replace function holdfast.promote(p_batch integer default 500) returns bigint
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
set enable_bitmapscan = off set jit = off as $$
declare
    v_now timestamptz := clock();
    v_due bigint[];
    v_hold bigint;
    v_kept bigint[] := '{}';
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
    end if;
    for v_hold in
        select id from hold
        where drained_at is null and case when released_at is null then until else '-infinity' end <= v_now
    loop
        v_kept := v_kept || array(
            select id from pipeline_job
            where hold_id = v_hold and state = 'held'
            limit p_batch - cardinality(v_kept)
            for update skip locked
        );
        exit when cardinality(v_kept) >= p_batch;
    end loop;
    if v_kept <> '{}' then
        perform requeue(v_kept, v_now);
    end if;
    return cardinality(v_due) + cardinality(v_kept);
end $$;

-- Closes holds that ended and that no job waits for any more. Waits for nobody; whoever has locked holds calls it last, so that
-- none is waited for while another is locked.
create or replace function holdfast.drain_holds() returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    c_batch constant integer := 100;
    v_now timestamptz := clock();
    v_ended bigint[] := array(
        select h.id from hold h
        where h.drained_at is null and case when h.released_at is null then h.until else '-infinity' end <= v_now
          and not exists (select from pipeline_job j where j.hold_id = h.id and j.state = 'held')
        limit c_batch
        for update of h skip locked
    );
begin
    -- Looked at again under the lock: until then a claim might have parked a job behind one.
    if v_ended <> '{}' then
        update hold h set drained_at = v_now
        where h.id = any (v_ended) and not exists (select from pipeline_job j where j.hold_id = h.id and j.state = 'held');
    end if;
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
