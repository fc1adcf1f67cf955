-- The best passages of an organisation for a question, by words, by vector or by both: then by the sum of 1 / (1 + rank)
-- over both lists, which needs no common measure; words count twice. Mode: words, vectors or fused. Only searchable documents.
-- HF409 where p_model, which made the vector, is not the one that answers searches: those of two models have nothing in common.
create or replace function holdfast.find(
    p_organisation text, p_question jsonb, p_vector real[], p_model text, p_mode text, p_filter jsonb, p_limit integer)
returns table (
    document_id bigint, ordinal integer, chunk_id text, title text, source_name text, source_platform text,
    source_location text, metadata jsonb, place jsonb, text text, context text, configuration regconfig, score double precision,
    words_rank bigint, words_score double precision, matched text[], vector_rank bigint, similarity double precision)
language plpgsql stable security definer set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
    -- The usual 60 ranks what is halfway up in both lists before what is first in one: a code that stands in one passage
    -- only, or a question in quite other words. `python -m bench quality` measures what these two are worth.
    c_fused constant integer := 1;
    c_words constant double precision := 2;
    v_depth integer := greatest(50, p_limit);
begin
    if not is_own(p_organisation) then
        return;
    end if;
    return query
    with by_words as materialized (
        select * from find_by_words(p_organisation, p_question, p_filter, v_depth) where p_mode <> 'vectors'
    ),
    by_vector as materialized (
        select * from find_by_vector(p_organisation, p_vector, p_model, p_question, p_filter, v_depth)
        where p_mode <> 'words' and p_vector is not null
    ),
    best as (
        select generation_id, ordinal, w.rank as words_rank, w.score as words_score, w.matched,
               v.rank as vector_rank, v.similarity,
               coalesce(c_words / (c_fused + w.rank), 0)
               + coalesce(1.0::double precision / (c_fused + v.rank), 0) as score
        from by_words w
        full join by_vector v using (generation_id, ordinal)
        order by score desc, w.rank, v.rank, generation_id desc, ordinal
        limit p_limit
    )
    select d.id, b.ordinal, c.id, title_of(d.metadata, d.source_name), d.source_name, d.source_platform,
           d.source_location, d.metadata, c.place, c.text, c.context, c.configuration, b.score, b.words_rank, b.words_score, b.matched, b.vector_rank, b.similarity
    from best b
    join chunk c using (generation_id, ordinal)
    cross join lateral (   -- the same content at several places answers with the first of those that fit
        select * from document d where d.generation_id = b.generation_id and findable(d, p_filter) order by d.id limit 1
    ) d
    order by b.score desc, b.words_rank, b.vector_rank, b.generation_id desc, b.ordinal;
end $$;

-- The model whose vectors answer searches; no row where nothing was embedded yet or pgvector is absent.
create or replace function holdfast.answering_embedder() returns table (name text, dimension integer)
language sql stable security definer set search_path = holdfast, pg_temp as $$
    select e.name, e.dimension from embedder e where e.active and has_vectors()
$$;
