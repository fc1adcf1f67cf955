-- Removes the chunks of a generation before an ordinal, null for all, and says how many there were. Idempotent.
create or replace function holdfast.remove_chunks(p_generation bigint, p_before integer) returns jsonb
language plpgsql security definer set search_path = holdfast, pg_temp as $$
declare
    v_count bigint;
begin
    delete from chunk where generation_id = p_generation and (p_before is null or ordinal < p_before);
    get diagnostics v_count = row_count;
    return jsonb_build_object('chunks', v_count);
end $$;
