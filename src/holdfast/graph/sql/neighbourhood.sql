-- The entities that these chunks speak of: the telling ones first, then the ones spoken of most; and for each what it stands
-- next to, as entity_neighbours has it. Chunks: [{document_id, ordinal}]. Only searchable documents count.
create or replace function holdfast.neighbourhood(p_organisation text, p_chunks jsonb, p_limit integer)
returns table (entity_id bigint, kind text, name text, passages bigint, neighbour_kind text, neighbour_name text,
               predicate text, outward boolean, maker text, strength bigint, document_id bigint, ordinal integer)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    with spoken_of as materialized (
        select e.id, e.kind, e.name, row_number() over (
            order by weakness(e.kind), count(*) desc, sum(m.count) desc, e.id
        ) as rank, count(*) as passages
        from (select distinct document_id, ordinal
              from jsonb_to_recordset(p_chunks) as c(document_id bigint, ordinal integer)) c
        join document d on d.id = c.document_id
        join entity_mention m on m.generation_id = d.generation_id and m.ordinal = c.ordinal and m.organisation = p_organisation
        join entity e on e.id = m.entity_id
        where is_shown(d)
        group by e.id
        order by rank
        limit p_limit
    )
    select s.id, s.kind, s.name, s.passages, n.kind, n.name, n.predicate, n.outward, n.maker, n.strength, n.document_id,
           n.ordinal
    from spoken_of s
    left join lateral entity_neighbours(p_organisation, s.id, p_limit) n on true
    order by s.rank, n.rank
$$;

-- What stands next to an entity in the newest fifty searchable chunks that speak of it: facts first, then the telling
-- ones, strongest first. Strength is how many of these chunks say so; the newest of them is named.
create or replace function holdfast.entity_neighbours(p_organisation text, p_entity bigint, p_limit integer)
returns table (rank bigint, kind text, name text, predicate text, outward boolean, maker text, strength bigint,
               document_id bigint, ordinal integer)
language sql stable set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    with newest as materialized (
        select d.id as document_id, m.generation_id, m.ordinal
        from entity_mention m
        cross join lateral (   -- one after the other, from the newest on
            select d.id from document d
            where d.generation_id = m.generation_id and is_shown(d)
            order by d.id
            limit 1
        ) d
        where m.entity_id = p_entity and m.organisation = p_organisation
        order by m.generation_id desc, m.ordinal desc
        limit 50
    ), said as materialized (
        select r.predicate, r.subject_id = p_entity as outward,
               case when r.subject_id = p_entity then r.object_id else r.subject_id end as other_id,
               min(r.maker) as maker, count(*) as strength, max(array[n.document_id, r.ordinal]) as chunk
        from newest n
        join relation r on r.generation_id = n.generation_id and r.ordinal = n.ordinal
        where p_entity in (r.subject_id, r.object_id)
        group by 1, 2, 3
    )
    select row_number() over (
               order by s.predicate = 'mentioned_with', weakness(o.kind), s.strength desc, o.name, o.id
           ) as rank, o.kind, o.name, s.predicate, s.outward, s.maker, s.strength, s.chunk[1], s.chunk[2]::integer
    from said s
    join entity o on o.id = s.other_id
    order by rank
    limit p_limit
$$;

-- How little a kind of entity tells by itself: a date or an amount less than a name, a phrase less than these.
create or replace function holdfast.weakness(p_kind text) returns integer
language sql immutable parallel safe as $$
    select case when p_kind = 'phrase' then 2 when p_kind in ('date', 'money') then 1 else 0 end
$$;
