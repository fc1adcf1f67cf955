-- What is known about a document.
create or replace function holdfast.overview_document(p_document_id bigint)
returns table (document_id bigint, organisation text, source_name text, platform text, source_location text, content_hash text,
               duplicate_of bigint, parent_id bigint, metadata jsonb, failure_state text, failure_count integer,
               failures jsonb, last_failure jsonb, cool_down_until timestamptz, created_at timestamptz, deleted_at timestamptz)
language plpgsql stable set search_path = holdfast, pg_temp as $$
begin
    return query
        select d.id, d.organisation, d.source_name, d.source_platform, d.source_location, d.content_hash, d.duplicate_of, d.parent_id,
               d.metadata, d.failure_state, d.failure_count, d.failures, d.last_failure, d.cool_down_until, d.created_at,
               d.deleted_at
        from document d
        where d.id = p_document_id;
    if not found then
        raise exception 'there is no document %', p_document_id using errcode = 'HF404';
    end if;
end $$;

grant execute on function holdfast.overview_document(bigint) to holdfast_api, holdfast_readonly;
