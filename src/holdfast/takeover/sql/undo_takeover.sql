-- Undoing: what a takeover made goes, in batches.

-- Gets ready to remove. The two indexes serve the removal only: the foreign keys would otherwise read all jobs for each document.
-- Nobody can write jobs while they are built.
create or replace function holdfast.begin_undo(p_takeover bigint, p_actor text) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_takeover takeover;
begin
    select * into v_takeover from takeover where id = p_takeover for update;
    perform audit_takeover(v_takeover, 'takeover_undo', p_actor, '{}');
    create index if not exists undo_job_document on pipeline_job (document_id);
    create index if not exists undo_superseded_by on document (superseded_by) where superseded_by is not null;
end $$;

-- The documents of a takeover that were worked on since, or sent again: of all its rows, or of those with these keys.
create or replace function holdfast.worked_rows(p_takeover bigint, p_keys text[]) returns setof bigint
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select r.document_id
    from taken_row r
    join pipeline_job j on j.document_id = r.document_id
    where r.takeover_id = p_takeover and r.let_go_at is null and (p_keys is null or r.key = any (p_keys))
    group by r.document_id
    having bool_or(j.token > 0) or count(*) > 1
    order by r.document_id
$$;

-- Removes up to p_limit rows that nobody worked on, and says how many; 0: there are no more. A document that others outside of the
-- takeover refer to stays, its job called off.
create or replace function holdfast.undo_rows(p_takeover bigint, p_limit integer, out removed bigint, out kept bigint)
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_bitmapscan = off
set jit = off as $$
declare
    v_jobs bigint[];
    v_keys text[];
    v_documents bigint[];
    v_kept bigint[];
begin
    perform from takeover where id = p_takeover for update;
    v_keys := array(
        select r.key
        from taken_row r
        left join pipeline_job j on j.id = r.job_id
        where r.takeover_id = p_takeover and r.let_go_at is null and coalesce(j.token, 0) = 0
        order by r.key
        limit p_limit
    );
    perform from pipeline_job where id = any (array(select job_id from taken_row where takeover_id = p_takeover and key = any (v_keys)))
    order by id for update;
    -- Asked again: whoever claimed one before it was locked has it.
    select coalesce(array_agg(r.key), '{}'), coalesce(array_agg(r.document_id) filter (where r.document_id is not null), '{}'),
           coalesce(array_agg(r.job_id) filter (where r.job_id is not null), '{}')
    into v_keys, v_documents, v_jobs
    from taken_row r
    left join pipeline_job j on j.id = r.job_id
    where r.takeover_id = p_takeover and r.key = any (v_keys) and coalesce(j.token, 0) = 0;
    v_kept := array(
        select d.id from unnest(v_documents) as d(id)
        where exists (select from pipeline_job j where j.document_id = d.id and j.id <> all (v_jobs))
           or exists (select from document o
                      where o.duplicate_of = d.id
                        and not exists (select from taken_row r where r.document_id = o.id and r.takeover_id = p_takeover))
           or exists (select from document o where o.parent_id = d.id)
           or exists (select from document o where o.superseded_by = d.id)
    );
    update pipeline_job j
    set flow = 'new', state = 'cancelled', ready_at = null, hold_id = null, finished_at = clock()
    where j.id = any (v_jobs) and j.document_id = any (v_kept) and j.state in ('queued', 'failed', 'held');
    update pipeline_job j set flow = 'new' where j.id = any (v_jobs) and j.document_id = any (v_kept) and j.flow = 'old';
    v_documents := array(select d from unnest(v_documents) d where d <> all (v_kept));
    -- Copies that a later batch removes must not keep their original from going.
    update document set duplicate_of = null, content_hash = null where duplicate_of = any (v_documents);
    perform let_go(p_takeover, v_kept);
    delete from taken_row where takeover_id = p_takeover and key = any (v_keys) and let_go_at is null;
    delete from artifact_use where document_id = any (v_documents);
    delete from pipeline_job where document_id = any (v_documents);
    delete from document where id = any (v_documents);
    removed := cardinality(v_keys) - cardinality(v_kept);
    kept := cardinality(v_kept);
end $$;

-- Lets go of rows whose documents stay, or were removed as others are. That they were taken over stays known: it explains their jobs.
create or replace function holdfast.let_go(p_takeover bigint, p_documents bigint[]) returns void
language sql security definer set search_path = holdfast, pg_temp as $$
    update taken_row set let_go_at = clock(), row_before = '{}'
    where takeover_id = p_takeover and document_id = any (p_documents)
$$;

-- Ends a takeover of which nothing is left.
create or replace function holdfast.finish_undo(p_takeover bigint, p_actor text, p_counts jsonb) returns void
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_takeover takeover;
begin
    if exists (select from taken_row where takeover_id = p_takeover and let_go_at is null) then
        raise exception 'a row was taken over or worked on meanwhile: undo again' using errcode = 'HF409';
    end if;
    update takeover set undone_at = clock(), cursor = null where id = p_takeover returning * into v_takeover;
    perform audit_takeover(v_takeover, 'takeover_undone', p_actor, p_counts);
    drop index if exists undo_job_document;
    drop index if exists undo_superseded_by;
end $$;
