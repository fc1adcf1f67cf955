-- Removes every chunk of a document and says how many there were. Idempotent.
create or replace function holdfast.remove_chunks(p_document bigint) returns jsonb
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_count bigint;
begin
    delete from chunk where document_id = p_document;
    get diagnostics v_count = row_count;
    return jsonb_build_object('chunks', v_count);
end $$;
