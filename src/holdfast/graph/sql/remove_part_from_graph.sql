-- Takes what a generation contributed out of the graph, of its chunks before an ordinal or, null, of all: its mentions and relations,
-- and the entities that nothing mentions any more. Says how many of each. Idempotent. Costs what it contributed.
create or replace function holdfast.remove_part_from_graph(p_generation bigint, p_before integer) returns jsonb
language plpgsql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_before integer := coalesce(p_before, 2147483647);
    v_entities bigint[];
    v_mentions bigint;
    v_relations bigint;
    v_gone bigint;
begin
    perform pg_advisory_xact_lock(graph_lock(organisation)) from pipeline_job where id = p_generation;
    delete from relation where generation_id = p_generation and ordinal < v_before;
    get diagnostics v_relations = row_count;
    with gone as (
        delete from entity_mention where generation_id = p_generation and ordinal < v_before returning entity_id
    )
    select array_agg(distinct entity_id), count(*) into v_entities, v_mentions from gone;
    delete from entity e
    where e.id = any (v_entities) and not exists (select from entity_mention m where m.entity_id = e.id);
    get diagnostics v_gone = row_count;
    return jsonb_build_object('mentions', v_mentions, 'relations', v_relations, 'entities', v_gone);
end $$;
