-- Whether a document may be found: it answers searches, and fits the filter. Filter: document_id,
-- source_platform, source_location, source_name, metadata (contained in the document's). Without a fixed search path, so
-- that the planner sees what it says.
create or replace function holdfast.findable(p_document holdfast.document, p_filter jsonb) returns boolean
language sql stable parallel safe as $$
    select holdfast.is_shown(p_document)
       and (not p_filter ? 'document_id' or p_document.id = (p_filter ->> 'document_id')::bigint)
       and (not p_filter ? 'source_platform' or p_document.source_platform = p_filter ->> 'source_platform')
       and (not p_filter ? 'source_location' or p_document.source_location = p_filter ->> 'source_location')
       and (not p_filter ? 'source_name' or p_document.source_name = p_filter ->> 'source_name')
       and (not p_filter ? 'metadata' or p_document.metadata @> (p_filter -> 'metadata'))
$$;
