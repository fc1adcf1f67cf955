-- A page of the artifacts that documents with a finished job need, in the order of documents. Reads only.
create or replace function holdfast.needed_artifacts(p_after_document bigint, p_after_kind text, p_limit integer)
returns table (document_id bigint, kind text, organisation text, hash text, size bigint)
language plpgsql stable set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set jit = off as $$
#variable_conflict use_column
begin
    return query
        select u.document_id, u.kind, u.organisation, u.hash, a.size
        from artifact_use u
        join artifact a on a.organisation = u.organisation and a.hash = u.hash
        where (u.document_id, u.kind) > (p_after_document, p_after_kind)
          and exists (select from jobs_of(u.document_id) j where j.state = 'done')
        order by u.document_id, u.kind
        limit p_limit;
end $$;
