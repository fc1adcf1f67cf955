-- Removes what was kept for a document, in the caller's transaction, and says how much that was.
create or replace function holdfast.remove_answers(p_document bigint) returns jsonb
language sql volatile security definer set search_path = holdfast, pg_temp as $$
    with removed as (delete from paid_answer where document_id = p_document returning 1)
    select jsonb_build_object('answers', count(*)) from removed
$$;
