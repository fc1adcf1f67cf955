-- How much is known from these documents: their chunks and vectors, and the entities and relations they contributed to.
create or replace function holdfast.knowledge_of(p_documents bigint[])
returns table (chunks bigint, embeddings bigint, entities bigint, relations bigint)
language plpgsql stable set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
declare
    v_generations bigint[] := array(select generation_of(d.id) from unnest(p_documents) as d(id));
begin
    select count(*) into chunks from chunk c where c.generation_id = any (v_generations);
    select count(distinct m.entity_id) into entities from entity_mention m where m.generation_id = any (v_generations);
    select count(distinct (r.subject_id, r.predicate, r.object_id)) into relations
    from relation r where r.generation_id = any (v_generations);
    embeddings := 0;
    -- The table exists only where vectors do.
    if to_regclass('holdfast.embedding') is not null then
        execute 'select count(*) from embedding e where e.generation_id = any ($1)' into embeddings using v_generations;
    end if;
    return next;
end $$;

-- What these documents' owners should know though it stopped nothing: one row for each warning of the phases that carried
-- them, as documents ("extracted", whatever the phase) or as configuration archives ("parsed").
create or replace function holdfast.warnings_of(p_documents bigint[])
returns table (document_id bigint, source_name text, code text, message text)
language sql stable set search_path = holdfast, pg_temp set enable_seqscan = off set jit = off as $$
    select d.id, d.source_name, w.warning ->> 'code', w.warning ->> 'message'
    from document d
    cross join lateral unnest(array['extracted', 'parsed']) with ordinality r(reader, n)
    cross join lateral jsonb_path_query(d.metadata -> r.reader, '$.warnings[*]') with ordinality w(warning, n)
    where d.id = any (p_documents)
    order by d.id, r.n, w.n
$$;

grant execute on function holdfast.knowledge_of(bigint[]), holdfast.warnings_of(bigint[])
to holdfast_worker, holdfast_api, holdfast_readonly;
