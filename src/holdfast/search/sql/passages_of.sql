-- Passages of a document in their order, from one on; HF404 for a document that is not there.
create or replace function holdfast.passages_of(p_document bigint, p_from integer, p_limit integer)
returns table (document_id bigint, ordinal integer, title text, place jsonb, text text, context text)
language plpgsql stable set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
begin
    if not exists (select from document d where d.id = p_document and d.deleted_at is null) then
        raise exception 'there is no document %', p_document using errcode = 'HF404';
    end if;
    return query
        select d.id, c.ordinal, title_of(d.metadata, d.source_name), c.place, c.text, c.context
        from chunk c
        join document d on d.id = p_document
        where c.generation_id = generation_of(p_document) and c.ordinal >= p_from
        order by c.ordinal
        limit p_limit;
end $$;

grant execute on function holdfast.passages_of(bigint, integer, integer) to holdfast_api, holdfast_readonly;
