-- Removes what was told of a document and takes it out of the totals; says how much that was. Idempotent.
create or replace function holdfast.remove_story(p_document bigint) returns jsonb
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_count bigint;
begin
    perform pg_advisory_xact_lock(story_lock(organisation)) from story where document_id = p_document;
    perform uncount_story(p_document);
    delete from story where document_id = p_document;
    get diagnostics v_count = row_count;
    return jsonb_build_object('stories', v_count);
end $$;
