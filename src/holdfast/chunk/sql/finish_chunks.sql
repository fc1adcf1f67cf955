-- Ends the chunking of a generation that has that many chunks now: what an earlier, longer run left behind is removed.
create or replace function holdfast.finish_chunks(p_generation bigint, p_count integer) returns void
language sql security definer set search_path = holdfast, pg_temp as $$
    delete from chunk where generation_id = p_generation and ordinal >= p_count
$$;
