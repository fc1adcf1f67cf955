-- Ends the chunking of a document that has that many chunks now: what an earlier, longer run left behind is removed.
create or replace function holdfast.finish_chunks(p_document bigint, p_count integer) returns void
language sql security definer set search_path = holdfast, pg_temp as $$
    delete from chunk where document_id = p_document and ordinal >= p_count
$$;
