-- Removes every vector of a document and says how many there were. Idempotent.
create or replace function holdfast.remove_embeddings(p_document bigint) returns jsonb
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_count bigint := 0;
begin
    if to_regclass('holdfast.embedding') is not null then
        delete from embedding where document_id = p_document;
        get diagnostics v_count = row_count;
    end if;
    return jsonb_build_object('embeddings', v_count);
end $$;
