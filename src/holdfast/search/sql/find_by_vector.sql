-- The passages of an organisation whose vectors are nearest to a question's, nearest first. Up to about 60,000 vectors that fit
-- are all compared, and the answer is exact; above, the index answers, which may pass over a few. Finds nothing where nothing is
-- embedded yet. A vector counts only if its passage still has the text that it was made from.
create or replace function holdfast.find_by_vector(
    p_organisation text, p_vector real[], p_model text, p_question jsonb, p_filter jsonb, p_limit integer)
returns table (generation_id bigint, ordinal integer, rank bigint, similarity double precision)
language plpgsql stable security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_column
declare
    v_model embedder;
    v_configurations regconfig[];
    v_demands tsquery[];
    v_patterns text[] := phrase_patterns(p_question);
    v_found bigint;
begin
    select * into v_model from embedder where active;
    if not found or not has_vectors() then
        return;
    end if;
    if v_model.name is distinct from p_model then
        raise exception 'the vectors stored are of model "%", not of "%"', v_model.name, p_model
        using errcode = 'HF409';
    end if;
    if p_question -> 'phrases' <> '[]' or p_question -> 'without' <> '[]' then
        select array_agg(c), array_agg(demand_of(c, p_question)) into v_configurations, v_demands
        from configurations_of(p_organisation) c;
    end if;
    if too_many_to_compare(p_organisation, v_model.id, p_filter) then
        return query
            select * from nearest_by_index(
                p_organisation, v_model, p_vector, v_configurations, v_demands, v_patterns, p_filter, p_limit);
        get diagnostics v_found = row_count;
        if v_found > 0 then
            return;
        end if;
        -- It gave up before it had met enough that fit.
    end if;
    return query
        select * from nearest_exactly(
            p_organisation, v_model, p_vector, v_configurations, v_demands, v_patterns, p_filter, p_limit);
end $$;

-- Whether more vectors of an organisation fit than are compared one by one. The filter is looked at only where all are too many.
create or replace function holdfast.too_many_to_compare(p_organisation text, p_embedder smallint, p_filter jsonb)
returns boolean
language plpgsql stable set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan set jit = off as $$
declare
    v_most bigint := compared_at_most(p_embedder);
begin
    -- From the index alone. Versions that were replaced are counted along; they are few.
    if v_most is null or not exists (
        select from embedding where organisation = p_organisation and embedder_id = p_embedder offset v_most limit 1
    ) then
        return false;
    end if;
    return p_filter = '{}' or exists (
        select
        from document d
        join embedding e on e.generation_id = d.generation_id and e.embedder_id = p_embedder
        where d.organisation = p_organisation and findable(d, p_filter)
        offset v_most limit 1);
end $$;

-- How many vectors are compared before the index is asked instead; null where the model has none. 60,000 take about 50 ms
-- (0.4 s where each has 1,536 numbers). The smaller a share of the index is, the longer the way from one vector of it to the next:
-- both ways cost the same at about 60 times the root of what the index holds.
create or replace function holdfast.compared_at_most(p_embedder smallint) returns bigint
language sql stable set search_path = holdfast, pg_temp as $$
    select greatest(60000, 60 * sqrt(greatest(reltuples, 0)))::bigint
    from pg_class
    where oid = to_regclass('holdfast.' || nearest_index(p_embedder))
$$;

-- Compares with every vector that fits. What is demanded of its passage is looked at from the nearest on, until enough are met.
create or replace function holdfast.nearest_exactly(
    p_organisation text, p_model holdfast.embedder, p_vector real[], p_configurations regconfig[], p_demands tsquery[],
    p_patterns text[], p_filter jsonb, p_limit integer)
returns table (generation_id bigint, ordinal integer, rank bigint, similarity double precision)
language plpgsql stable set search_path = holdfast, pg_temp set jit = off as $$
begin
    -- Unknown until there is pgvector: what names vectors is read when it runs. The document's organisation is named too: what
    -- share of all documents fits the planner cannot know behind row security, and would look at other organisations' first.
    return query execute $query$
        select m.generation_id, m.ordinal, row_number() over (order by m.distance, m.generation_id desc, m.ordinal), 1 - m.distance
        from (
            select n.*
            from (
                select e.generation_id, e.ordinal, distance(e.vector, to_vector($1)) as distance
                from embedding e
                where e.organisation = $2 and e.embedder_id = $3 and e.generation_id in (
                    select d.generation_id from document d where d.organisation = $2 and findable(d, $4))
                order by distance
                offset 0   -- sorted before the passages are looked at
            ) n
            where vector_counts(n.generation_id, n.ordinal, $3, $5, $6, $7)
            limit $8
        ) m
        order by 3$query$
    using p_vector, p_organisation, p_model.id, p_filter, p_configurations, p_demands, p_patterns, p_limit;
end $$;

-- Walks the model's index from the nearest on until it has met so many that fit that the best of them are most likely the best of
-- all. Answers nothing if it has met too few when it has met very many.
create or replace function holdfast.nearest_by_index(
    p_organisation text, p_model holdfast.embedder, p_vector real[], p_configurations regconfig[], p_demands tsquery[],
    p_patterns text[], p_filter jsonb, p_limit integer)
returns table (generation_id bigint, ordinal integer, rank bigint, similarity double precision)
language plpgsql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    v_candidates integer := greatest(200, 2 * p_limit);
begin
    -- Not in the head of the function: only a superuser may name settings there that the extension has yet to define.
    perform set_config('hnsw.ef_search', greatest(400, 2 * p_limit)::text, true),
            set_config('hnsw.iterative_scan', 'relaxed_order', true),
            set_config('hnsw.max_scan_tuples', '40000', true),
            set_config('hnsw.scan_mem_multiplier', '16', true);   -- else it gives up sooner, by what work_mem is
    return query execute format($query$
        with candidate as materialized (
            select e.generation_id, e.ordinal, e.vector
            from embedding e
            where e.embedder_id = %2$s and e.organisation = $2
              and exists (select from document d where d.generation_id = e.generation_id and findable(d, $3))
              and vector_counts(e.generation_id, e.ordinal, e.embedder_id, $4, $5, $6)
            order by half_distance(half(e.vector, %1$s), half(to_vector($1), %1$s))
            limit $7
        )
        select c.generation_id, c.ordinal, row_number() over (order by m.distance, c.generation_id desc, c.ordinal), 1 - m.distance
        from candidate c
        cross join lateral (select distance(c.vector, to_vector($1)) as distance) m
        where (select count(*) from candidate) = $7
        order by 3
        limit $8$query$, p_model.dimension, p_model.id)
    using p_vector, p_organisation, p_filter, p_configurations, p_demands, p_patterns, v_candidates, p_limit;
end $$;

-- Whether a vector speaks for its passage: that has the text it was made from, all that must occur and nothing that must not.
create or replace function holdfast.vector_counts(
    p_generation bigint, p_ordinal integer, p_embedder smallint, p_configurations regconfig[], p_demands tsquery[],
    p_patterns text[])
returns boolean
language plpgsql stable set search_path = holdfast, pg_temp as $$
begin
    return exists (
        select
        from embedding e
        join chunk c using (generation_id, ordinal)
        cross join lateral (select p_demands[array_position(p_configurations, c.configuration)] as demand) d
        where e.generation_id = p_generation and e.ordinal = p_ordinal and e.embedder_id = p_embedder
          and e.text_hash = c.text_hash
          and (p_configurations is null or (
              (d.demand = '' or c.words @@ d.demand)
              and (p_patterns = '{}' or concat(c.context, e'\n\n', c.text) ~* all (p_patterns)))));
end $$;
