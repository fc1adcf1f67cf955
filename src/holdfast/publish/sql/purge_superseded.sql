-- Removes what was derived from versions that were replaced before a moment, members first, and lets their artifacts go; the rows
-- of the documents and their attempts stay. What a job still works on, or what answers elsewhere, is left for later. At most
-- p_limit at a time, and of one organisation, so that two callers never wait for each other: repeat until "documents" is 0.
create or replace function holdfast.purge_superseded(p_before timestamptz, p_limit integer) returns jsonb
language plpgsql security definer set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_document document;
    v_organisation text;
    v_counts jsonb := '{"documents": 0}';
begin
    for v_document in
        select d.* from document d
        where d.id = any (array(select u.id from unneeded_versions(p_before, p_limit) u))
        order by d.organisation, d.id desc   -- what came out of a document before the document
        for update of d skip locked
    loop
        exit when v_organisation <> v_document.organisation;
        v_organisation := v_document.organisation;
        continue when is_needed(v_document.id);   -- looked at again under the lock
        v_counts := add_counts(add_counts(v_counts, remove_derived(v_document.id)), '{"documents": 1}');
        delete from artifact_use where document_id = v_document.id;
        update document set purged_at = clock(), generation_id = null where id = v_document.id;
    end loop;
    return v_counts;
end $$;

-- Versions replaced before a moment, and what came out of them, that nothing needs and no job works on; the longest ago first. A
-- document comes after all that came out of it.
create or replace function holdfast.unneeded_versions(p_before timestamptz, p_limit integer) returns table (id bigint)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    select c.id
    from document r
    cross join lateral (
        select m.id, m.parent_id from document m where m.root_id = r.id and m.purged_at is null and m.deleted_at is null
        union all
        select r.id, null
    ) c
    where r.superseded_at < p_before and r.purged_at is null and r.deleted_at is null
      and not exists (
          select from pipeline_job j where j.document_id = c.id and j.state not in ('done', 'deadletter', 'cancelled'))
      and not exists (
          select from document m where m.parent_id = c.id and m.purged_at is null and m.deleted_at is null)
      and not is_needed(c.id)
    order by r.superseded_at, r.id
    limit p_limit
$$;
