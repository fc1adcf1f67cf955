-- Lets a document that waits for its members go on as soon as none of them is under way. Called when one of them has ended,
-- however it ended. Two that end in the same moment may each take the other to be under way: the wait's own end mends that.
create or replace function holdfast.wake_parent(p_parent bigint) returns void
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_waiting bigint[] := array(
        select j.id from pipeline_job j
        where j.document_id = p_parent and j.state not in ('done', 'deadletter', 'cancelled') and waits_for_members(j)
    );
begin
    if v_waiting <> '{}' and not has_members_under_way(p_parent) then
        -- One that somebody claims or settles right now is not waiting.
        perform requeue(array(
            select j.id from pipeline_job j where j.id = any (v_waiting) and waits_for_members(j) for update skip locked
        ), clock());
        perform wake();
    end if;
end $$;

-- Whether a member is under way, as far as jobs know what their documents came out of when they were submitted. Looks at one
-- row, however many members have ended: the newest, because members mostly end in their order.
create or replace function holdfast.has_members_under_way(p_document bigint) returns boolean
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
    select (
        select j.id from pipeline_job j
        where j.parent_id = p_document
          and (j.state in ('queued', 'working', 'held') or j.state = 'failed' and j.ready_at is not null)
        order by j.parent_id desc, j.id desc
        limit 1
    ) is not null
$$;

-- The same for all documents, for whoever is about to leave; some hundred at once. Returns how many go on: there may be more
-- unless it is 0.
create or replace function holdfast.wake_parents() returns bigint
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_ready bigint[] := array(
        select j.id from pipeline_job j
        where j.state in ('failed', 'held') and j.ready_at is not null and waits_for_members(j)
          and not exists (select from members_under_way(j.document_id) m where m.under_way > 0)
        limit 500
        for update skip locked
    );
begin
    perform requeue(v_ready, clock());
    return cardinality(v_ready);
end $$;

-- Whether that is what a job waits for: not a hold, a cool-down or a provider's answer.
create or replace function holdfast.waits_for_members(p_job holdfast.pipeline_job) returns boolean
language sql stable set search_path = holdfast, pg_temp as $$
    select p_job.state = 'held' and p_job.hold_id is null
       and exists (select from pipeline_phase a where a.id = p_job.retried_phase_id and a.error -> 'for_members' = 'true')
$$;
