-- Removes the text that was generated from a document; says how much that was. Idempotent.
create or replace function holdfast.remove_reading(p_document bigint) returns jsonb
language sql volatile security definer set search_path = holdfast, pg_temp as $$
    with removed as (delete from reading where document_id = p_document returning 1)
    select jsonb_build_object('readings', count(*)) from removed
$$;
