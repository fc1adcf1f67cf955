-- What a document keeps as one kind of artifact (original, text, spans …), and its name; a copy shows what the document has
-- that it is a copy of. HF404 when there is no such document, or nothing is kept of that kind. Reads only.
create or replace function holdfast.document_file(p_document bigint, p_kind text)
returns table (organisation text, source_name text, hash text, size bigint)
language plpgsql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
begin
    if not exists (select from document d where d.id = p_document and d.deleted_at is null) then
        raise exception 'there is no document %', p_document using errcode = 'HF404';
    end if;
    return query
        select d.organisation, d.source_name, a.hash, a.size
        from document d
        join artifact_use u on u.document_id in (d.id, d.duplicate_of) and u.kind = p_kind
        join artifact a on a.organisation = u.organisation and a.hash = u.hash
        where d.id = p_document
        order by u.document_id = d.id desc
        limit 1;
    if not found then
        raise exception 'document % has no %: the phase that makes it has not completed', p_document, p_kind using errcode = 'HF404';
    end if;
end $$;
