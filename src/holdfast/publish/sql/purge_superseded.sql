-- Removes what was derived from versions that were replaced before a moment, and lets their artifacts go; the rows of the
-- documents and their attempts stay. A version that a job still works on is left for later. At most p_limit at a time, and
-- of one organisation, so that two callers never wait for each other: repeat until "documents" is 0.
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
        where d.superseded_at < p_before and d.purged_at is null and d.deleted_at is null
          and not exists (
              select from pipeline_job j
              where j.document_id = d.id and j.state not in ('done', 'deadletter', 'cancelled')
          )
        order by d.superseded_at, d.id
        limit p_limit
        for update of d skip locked
    loop
        exit when v_organisation <> v_document.organisation;
        v_organisation := v_document.organisation;
        v_counts := add_counts(add_counts(v_counts, remove_derived(v_document.id)), '{"documents": 1}');
        delete from artifact_use where document_id = v_document.id;
        update document set purged_at = clock() where id = v_document.id;
    end loop;
    return v_counts;
end $$;
