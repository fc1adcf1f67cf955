-- Merges what was said of documents that stand already into their metadata and that of what came out of them; what phases found
-- out stays. Items: document_id, metadata, idempotency_key; under the key that a document came with, nothing is said anew.
-- Answers the named documents whose metadata changed. Nothing runs. Idempotent.
create or replace function holdfast.merge_metadata(p_organisation text, p_items jsonb) returns setof bigint
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
begin
    if not is_own(p_organisation) then
        raise exception 'documents of another organisation are not yours to describe' using errcode = 'HF404';
    end if;
    return query
        with recursive described as (
            select d.id, d.id as top, i.metadata
            from jsonb_to_recordset(p_items) as i(document_id bigint, metadata jsonb, idempotency_key text)
            join document d on d.id = i.document_id
            where d.organisation = p_organisation and d.deleted_at is null
              and (i.idempotency_key is null or i.idempotency_key is distinct from d.idempotency_key)
            union
            select d.id, a.top, a.metadata
            from described a join document d on d.parent_id = a.id
            where d.superseded_at is null and d.deleted_at is null
        ),
        locked as materialized (
            select d.id, d.metadata, d.found_out
            from document d
            where d.id = any (array(select id from described))
            order by d.id   -- one lock order for all
            for no key update
        ),
        changed as (
            update document d
            set metadata = l.metadata || (a.metadata - l.found_out)
            from described a join locked l on l.id = a.id
            where d.id = a.id and l.metadata || (a.metadata - l.found_out) <> l.metadata
            returning a.id, a.top
        )
        select id from changed where id = top;
end $$;
