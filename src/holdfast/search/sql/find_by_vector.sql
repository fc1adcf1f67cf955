-- The passages of an organisation whose vectors are nearest to a question's, nearest first. Every filter is exact: where the
-- index might pass over what fits, all that fits is compared. Finds nothing where nothing is embedded yet.
create or replace function holdfast.find_by_vector(
    p_organisation text, p_vector real[], p_model text, p_question jsonb, p_filter jsonb, p_limit integer)
returns table (document_id bigint, ordinal integer, rank bigint, similarity double precision)
language plpgsql stable security definer set search_path = holdfast, pg_temp as $$
#variable_conflict use_column
declare
    c_few constant integer := 5000;   -- so many are compared sooner than the index finds them among all others
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
    if to_regclass('holdfast.' || nearest_index(v_model.id)) is not null
       and vectors_up_to(p_organisation, v_model.id, p_filter, c_few + 1) > c_few then
        return query
            with nearest as materialized (
                select * from nearest_by_index(
                    p_organisation, v_model, p_vector, v_configurations, v_demands, v_patterns, p_filter, p_limit)
            )
            select * from nearest where (select count(*) from nearest) = p_limit;
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

-- Compares with every vector that fits.
create or replace function holdfast.nearest_exactly(
    p_organisation text, p_model holdfast.embedder, p_vector real[], p_configurations regconfig[], p_demands tsquery[],
    p_patterns text[], p_filter jsonb, p_limit integer)
returns table (document_id bigint, ordinal integer, rank bigint, similarity double precision)
language plpgsql stable set search_path = holdfast, pg_temp set jit = off as $$
begin
    -- Unknown until there is pgvector: what names vectors is read when it runs.
    return query execute $query$
        select n.document_id, n.ordinal, row_number() over (order by n.distance, n.document_id desc, n.ordinal), 1 - n.distance
        from (
            select e.document_id, e.ordinal, distance(e.vector, to_vector($1)) as distance
            from embedding e
            join document d on d.id = e.document_id
            where e.organisation = $2 and e.embedder_id = $3 and findable(d, $4)
              and ($5 is null or fulfils(e.document_id, e.ordinal, $5, $6, $7))
            order by distance
            limit $8
        ) n
        order by 3$query$
    using p_vector, p_organisation, p_model.id, p_filter, p_configurations, p_demands, p_patterns, p_limit;
end $$;

-- Walks the model's index from the nearest on until enough are met that fit, or it has met very many.
create or replace function holdfast.nearest_by_index(
    p_organisation text, p_model holdfast.embedder, p_vector real[], p_configurations regconfig[], p_demands tsquery[],
    p_patterns text[], p_filter jsonb, p_limit integer)
returns table (document_id bigint, ordinal integer, rank bigint, similarity double precision)
language plpgsql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
begin
    -- Not in the head of the function: only a superuser may name settings there that the extension has yet to define.
    perform set_config('hnsw.ef_search', greatest(200, 2 * p_limit)::text, true),
            set_config('hnsw.iterative_scan', 'relaxed_order', true),
            set_config('hnsw.max_scan_tuples', '40000', true);
    return query execute format($query$
        with nearest as materialized (
            select e.document_id, e.ordinal, e.vector
            from embedding e
            join document d on d.id = e.document_id
            where e.embedder_id = %2$s and e.organisation = $2 and findable(d, $3)
              and ($4 is null or fulfils(e.document_id, e.ordinal, $4, $5, $6))
            order by half_distance(half(e.vector, %1$s), half(to_vector($1), %1$s))
            limit $7
        )
        select n.document_id, n.ordinal, row_number() over (order by m.distance, n.document_id desc, n.ordinal), 1 - m.distance
        from nearest n
        cross join lateral (select distance(n.vector, to_vector($1)) as distance) m
        order by 3$query$, p_model.dimension, p_model.id)
    using p_vector, p_organisation, p_filter, p_configurations, p_demands, p_patterns, p_limit;
end $$;

-- Whether a passage has all that must occur and nothing that must not.
create or replace function holdfast.fulfils(
    p_document bigint, p_ordinal integer, p_configurations regconfig[], p_demands tsquery[], p_patterns text[])
returns boolean
language sql stable set search_path = holdfast, pg_temp as $$
    select (d.demand = '' or c.words @@ d.demand)
       and (p_patterns = '{}' or concat(c.context, e'\n\n', c.text) ~* all (p_patterns))
    from chunk c
    cross join lateral (select p_demands[array_position(p_configurations, c.configuration)] as demand) d
    where c.document_id = p_document and c.ordinal = p_ordinal
$$;

-- How many vectors of an organisation fit, counted up to a limit.
create or replace function holdfast.vectors_up_to(p_organisation text, p_embedder smallint, p_filter jsonb, p_limit integer)
returns bigint
language plpgsql stable set search_path = holdfast, pg_temp set plan_cache_mode = force_custom_plan set jit = off as $$
begin
    if p_filter = '{}' then
        -- From the index alone. Versions that were replaced are counted along; they are few.
        return (select count(*) from (
            select from embedding where organisation = p_organisation and embedder_id = p_embedder limit p_limit) e);
    end if;
    return (select count(*) from (
        select
        from document d
        join embedding e on e.document_id = d.id and e.embedder_id = p_embedder
        where d.organisation = p_organisation and findable(d, p_filter)
        limit p_limit) e);
end $$;
